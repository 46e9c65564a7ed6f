package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// home is the list, from the other pages.
const home = "./"

// Stored serves the runs that lie below a folder, as they are at each request:
//
//	GET /          the list of them, page by page
//	GET /run       the page of the run id
//	GET /compare   the sides of each id beside each other
//
// An id is the folder of a run, or of several, from that folder on. It is an http.Handler.
type Stored struct {
	folder string
	mux    *http.ServeMux

	mu    sync.Mutex
	known map[string]*summary // by id
}

// NewStored serves the runs below a folder. It fails if that cannot be read.
func NewStored(folder string) (*Stored, error) {
	if _, err := os.ReadDir(folder); err != nil {
		return nil, err
	}
	s := &Stored{folder: folder, mux: http.NewServeMux(), known: map[string]*summary{}}
	for pattern, show := range map[string]func(context.Context, io.Writer, url.Values) error{
		"GET /{$}": s.list, "GET /run": s.run, "GET /compare": s.compare,
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { answer(r.Context(), w, r.URL.Query(), show) })
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Stored) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// answer sends a page, or why there is none.
func answer(ctx context.Context, w http.ResponseWriter, query url.Values, show func(context.Context, io.Writer, url.Values) error) {
	var out bytes.Buffer
	status := http.StatusOK
	if err := show(ctx, &out, query); err != nil {
		status = http.StatusBadRequest
		if errors.Is(err, fs.ErrNotExist) {
			status = http.StatusNotFound
		}
		out.Reset()
		if err := page.WriteProblem(&out, err, home); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // a browser that is gone has no answer
}

// ids are the folders of all runs, from the folder on.
func (s *Stored) ids(ctx context.Context) ([]string, error) {
	files, err := run.Find(ctx, s.folder)
	if errors.Is(err, run.ErrNoneFound) {
		return nil, nil
	}
	ids := make([]string, len(files))
	for i, file := range files {
		id, err := filepath.Rel(s.folder, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		ids[i] = filepath.ToSlash(id)
	}
	return ids, err
}

func (s *Stored) file(id string) string {
	return filepath.Join(s.folder, filepath.FromSlash(id), run.File)
}

// run shows one run.
func (s *Stored) run(ctx context.Context, w io.Writer, query url.Values) error {
	chosen, err := s.choose(ctx, query["id"])
	if err != nil {
		return err
	}
	if len(chosen) != 1 || len(chosen[0].runs) != 1 {
		return errors.New("expected the id of one run")
	}
	p := page.OfRun(chosen[0].runs[0])
	p.Home = home
	return p.Write(w)
}

// chosen is what one id names.
type chosen struct {
	id string
	// all are the ids of its runs.
	all  []string
	runs []*run.Document
}

// choose reads the runs of each id. A run is that of the first that names it.
func (s *Stored) choose(ctx context.Context, ids []string) ([]chosen, error) {
	choice, err := s.chooseFiles(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range choice {
		for _, one := range choice[i].all {
			r, err := run.ReadFile(s.file(one))
			if err != nil {
				return nil, err
			}
			choice[i].runs = append(choice[i].runs, r)
		}
	}
	return choice, nil
}

// chooseFiles is choose without reading.
func (s *Stored) chooseFiles(ctx context.Context, ids []string) ([]chosen, error) {
	all, err := s.ids(ctx)
	if err != nil {
		return nil, err
	}
	var choice []chosen
	taken := map[string]bool{}
	slices.SortStableFunc(ids, func(a, b string) int { return len(a) - len(b) }) // sets before what is in them
	for _, id := range ids {
		id = unsent(id, all)
		c := chosen{id: id}
		found := false
		for _, one := range all {
			if id != "." && one != id && !strings.HasPrefix(one, id+"/") {
				continue
			}
			found = true
			if !taken[one] {
				taken[one] = true
				c.all = append(c.all, one)
			}
		}
		switch {
		case !found:
			return nil, fmt.Errorf("%q: %w: there is no run below it", id, fs.ErrNotExist)
		case len(c.all) > 0:
			choice = append(choice, c)
		}
	}
	return choice, nil
}

// unsent is the id, of a run or a folder of some, that a form sent: a browser sends each line end in a name as CR LF.
func unsent(id string, all []string) string {
	if !strings.Contains(id, "\r\n") {
		return id
	}
	found := ""
	for _, one := range all {
		for at := one; ; at = path.Dir(at) {
			if at == id {
				return id
			}
			if found == "" && lineEnds.Replace(at) == lineEnds.Replace(id) {
				found = at
			}
			if !strings.Contains(at, "/") {
				break
			}
		}
	}
	return cmp.Or(found, id)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// compare shows the sides beside each other.
func (s *Stored) compare(ctx context.Context, w io.Writer, query url.Values) error {
	if len(query["id"]) == 0 {
		return s.show(ctx, w, query, "Nothing is chosen: mark two sets or runs or more, and then side by side.")
	}
	chosen, err := s.choose(ctx, query["id"])
	if err != nil {
		return err
	}
	p := page.Page{Sides: sides(chosen), Home: home}
	if len(p.Sides) == 2 { // the older one is OLD, unless asked for the other way round
		other := url.Values{"id": query["id"]}
		if query.Get("swap") == "" {
			other.Set("swap", "1")
		} else {
			slices.Reverse(p.Sides)
		}
		p.Swap = "compare?" + other.Encode()
	}
	if n := len(p.Sides); n < 2 || n > mostSides {
		return fmt.Errorf("expected 2 to %d sides, got %d; choose sets, or runs of several implementations", mostSides, n)
	}
	for _, side := range p.Sides[1:] {
		c, err := compare.Shown(p.Sides[0].Runs, side.Runs, compare.DefaultOptions())
		if err != nil {
			return fmt.Errorf("%s beside %s: %w", side.Name, p.Sides[0].Name, err)
		}
		p.Comparisons = append(p.Comparisons, c)
	}
	if len(p.Sides) == 2 { // which the comparison calls so
		p.Sides[0].Name, p.Sides[1].Name = "OLD "+p.Sides[0].Name, "NEW "+p.Sides[1].Name
	}
	return p.Write(w)
}

// mostSides is how many sides have a colour of their own.
const mostSides = 8
