package web

import (
	"bytes"
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
	"time"

	"github.com/dq-bench/dq-bench/harness/compare"
	"github.com/dq-bench/dq-bench/harness/history"
	"github.com/dq-bench/dq-bench/harness/page"
	"github.com/dq-bench/dq-bench/harness/run"
)

// home is the list, from the other pages.
const home = "./"

// Stored serves the runs that lie below a folder, as they are at each request:
//
//	GET /          the list of them
//	GET /run       the page of the run id
//	GET /compare   the sides of each id beside each other
//	GET /history   the history of each id, or of all runs, by what and against which reference
//
// An id is the folder of a run, or of several, from that folder on. It is an http.Handler.
type Stored struct {
	folder string
	mux    *http.ServeMux

	mu    sync.Mutex
	known map[string]summary // by id
}

// summary is what the list shows of a run file, while the file is as it was.
type summary struct {
	size int64
	at   time.Time
	run  page.ListRun
	err  error
}

// NewStored serves the runs below a folder. It fails if that cannot be read.
func NewStored(folder string) (*Stored, error) {
	if _, err := os.ReadDir(folder); err != nil {
		return nil, err
	}
	s := &Stored{folder: folder, mux: http.NewServeMux(), known: map[string]summary{}}
	for pattern, show := range map[string]func(context.Context, io.Writer, url.Values) error{
		"GET /{$}": s.list, "GET /run": s.run, "GET /compare": s.compare, "GET /history": s.history,
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
func (s *Stored) ids() ([]string, error) {
	var ids []string
	err := filepath.WalkDir(s.folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != run.File || !entry.Type().IsRegular() {
			return err
		}
		id, err := filepath.Rel(s.folder, filepath.Dir(file))
		ids = append(ids, filepath.ToSlash(id))
		return err
	})
	return ids, err
}

func (s *Stored) file(id string) string {
	return filepath.Join(s.folder, filepath.FromSlash(id), run.File)
}

// list shows all runs, those of a set together.
func (s *Stored) list(ctx context.Context, w io.Writer, _ url.Values) error {
	ids, err := s.ids()
	if err != nil {
		return err
	}
	l := page.List{Folder: s.folder}
	sets := map[string][]page.ListRun{}
	for _, id := range ids {
		one := s.summary(id)
		if one.err != nil {
			l.Unreadable = append(l.Unreadable, one.err.Error())
			continue
		}
		sets[setOf(id)] = append(sets[setOf(id)], one.run)
	}
	newestFirst := func(a, b page.ListRun) int { return b.Started.Compare(a.Started) }
	for id, runs := range sets {
		slices.SortFunc(runs, newestFirst)
		l.Sets = append(l.Sets, page.ListSet{ID: id, Runs: runs})
	}
	slices.SortFunc(l.Sets, func(a, b page.ListSet) int {
		if order := newestFirst(a.Runs[0], b.Runs[0]); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return l.Write(w)
}

// setOf is the folder that a series keeps the runs of one side in, or that of the run.
func setOf(id string) string {
	if strings.Trim(path.Base(id), "0123456789") == "" && strings.Contains(id, "/") {
		return path.Dir(id)
	}
	return id
}

// summary reads a run file, unless it is as it was.
func (s *Stored) summary(id string) summary {
	info, err := os.Stat(s.file(id))
	if err != nil {
		return summary{err: err}
	}
	s.mu.Lock()
	one, there := s.known[id]
	s.mu.Unlock()
	if there && one.size == info.Size() && one.at.Equal(info.ModTime()) {
		return one
	}
	one = summary{size: info.Size(), at: info.ModTime()}
	r, err := run.ReadFile(s.file(id))
	if one.err = err; err == nil {
		one.run = page.NewListRun(id, r)
	}
	s.mu.Lock()
	s.known[id] = one
	s.mu.Unlock()
	return one
}

// run shows one run.
func (s *Stored) run(ctx context.Context, w io.Writer, query url.Values) error {
	chosen, err := s.choose(query["id"])
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

// history shows what is chosen, or all.
func (s *Stored) history(ctx context.Context, w io.Writer, query url.Values) error {
	ids := query["id"]
	if len(ids) == 0 {
		ids = []string{"."}
	}
	chosen, err := s.choose(ids)
	if err != nil {
		return err
	}
	var runs []*run.Document
	for _, c := range chosen {
		runs = append(runs, c.runs...)
	}
	o := history.DefaultOptions()
	o.Reference = query.Get("reference")
	if by := query.Get("by"); by != "" {
		if o.By, err = history.ParseBy(by); err != nil {
			return err
		}
	}
	h, err := history.Of(ctx, runs, o)
	if err != nil {
		return err
	}
	return page.WriteHistoryPage(w, h, home)
}

// chosen is what one id names.
type chosen struct {
	id   string
	runs []*run.Document
}

// choose reads the runs of each id. A run is that of the first that names it.
func (s *Stored) choose(ids []string) ([]chosen, error) {
	all, err := s.ids()
	if err != nil {
		return nil, err
	}
	var choice []chosen
	taken := map[string]bool{}
	slices.SortStableFunc(ids, func(a, b string) int { return len(a) - len(b) }) // sets before what is in them
	for _, id := range ids {
		c := chosen{id: id}
		found := false
		for _, one := range all {
			if id != "." && one != id && !strings.HasPrefix(one, id+"/") {
				continue
			}
			found = true
			if taken[one] {
				continue
			}
			taken[one] = true
			r, err := run.ReadFile(s.file(one))
			if err != nil {
				return nil, err
			}
			c.runs = append(c.runs, r)
		}
		switch {
		case !found:
			return nil, fmt.Errorf("%q: %w: there is no run below it", id, fs.ErrNotExist)
		case len(c.runs) > 0:
			choice = append(choice, c)
		}
	}
	return choice, nil
}

// compare shows the sides beside each other.
func (s *Stored) compare(ctx context.Context, w io.Writer, query url.Values) error {
	chosen, err := s.choose(query["id"])
	if err != nil {
		return err
	}
	p := page.Page{Sides: sides(chosen), Home: home}
	if n := len(p.Sides); n < 2 || n > mostSides {
		return fmt.Errorf("expected 2 to %d sides, got %d; choose sets, or runs of several implementations", mostSides, n)
	}
	var folders []string
	for _, c := range chosen {
		folders = append(folders, filepath.Join(s.folder, filepath.FromSlash(c.id)))
	}
	options, err := optionsOf(folders)
	if err != nil {
		return err
	}
	for _, side := range p.Sides[1:] {
		c, err := compare.Runs(p.Sides[0].Runs, side.Runs, options)
		var different *run.DifferenceError
		if errors.As(err, &different) {
			// The figures are shown beside each other, but nothing is concluded.
			forced := options
			forced.Force = true
			if c, err = compare.Runs(p.Sides[0].Runs, side.Runs, forced); err == nil {
				c.Unjudge(different)
			}
		}
		if err != nil {
			return err
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

// optionsOf takes the noise that was measured beside the runs, as 'dq-bench compare' does.
func optionsOf(folders []string) (compare.Options, error) {
	file := compare.FindNoise(folders...)
	if file == "" {
		return compare.DefaultOptions(), nil
	}
	noise, err := compare.ReadNoise(file)
	return compare.Options{Noise: noise}, err
}
