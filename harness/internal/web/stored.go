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
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Stored serves the runs below a folder, as they are at each request:
//
//	GET /          the list of all
//	GET /run       the page of the run id
//	GET /compare   the sets of each id side by side, or of all ids told apart by version, commit or server
//
// An id is the folder of a run, or of several, from that folder on. It is an http.Handler.
type Stored struct {
	*http.ServeMux
	folder string
	rows   sync.Map // report.Stored by state of a run file
}

// state says which run file it is, and when it was written.
type state struct {
	id   string
	size int64
	at   int64
}

// NewStored serves the runs below a folder. It fails if the folder cannot be read.
func NewStored(folder string) (*Stored, error) {
	if _, err := os.ReadDir(folder); err != nil {
		return nil, err
	}
	s := &Stored{folder: folder, ServeMux: http.NewServeMux()}
	for pattern, show := range map[string]func(*http.Request) (report.Page, error){
		"GET /{$}":     func(q *http.Request) (report.Page, error) { return s.list(q.Context(), "") },
		"GET /run":     s.run,
		"GET /compare": s.compare,
	} {
		s.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) {
			p, err := show(q)
			status := http.StatusOK
			if err != nil {
				p, status = report.Page{Title: "dq-bench", State: "open", Tag: "not shown", Verdict: err.Error()}, http.StatusBadRequest
				if errors.Is(err, fs.ErrNotExist) {
					status = http.StatusNotFound
				}
			}
			p.Links = []report.Link{{Href: "./", Text: "all runs"}}
			Answer(w, status, p.Write)
		})
	}
	return s, nil
}

// Answer sends a page of HTML.
func Answer(w http.ResponseWriter, status int, write func(io.Writer) error) {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // a browser that is gone has no answer
}

// ids are the folders of all runs, from the folder on. A link that leads out of the folder is left out.
func (s *Stored) ids(ctx context.Context) (ids []string, err error) {
	files, err := run.Find(ctx, s.folder)
	if errors.Is(err, run.ErrNoneFound) {
		return nil, nil
	}
	root, failed := os.OpenRoot(s.folder)
	if failed != nil {
		return nil, failed
	}
	defer root.Close()
	for _, file := range files {
		file, _ = filepath.Rel(s.folder, file) // which is below it
		if _, err := root.Stat(file); err == nil {
			ids = append(ids, filepath.ToSlash(filepath.Dir(file)))
		}
	}
	return ids, err
}

func (s *Stored) file(id string) string {
	return filepath.Join(s.folder, filepath.FromSlash(id), run.File)
}

// list shows all runs.
func (s *Stored) list(ctx context.Context, notice string) (report.Page, error) {
	ids, err := s.ids(ctx)
	if err != nil {
		return report.Page{}, err
	}
	rows, errs := make([]report.Stored, len(ids)), make([]error, len(ids))
	var reading sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, id := range ids {
		free <- struct{}{}
		reading.Go(func() {
			if errs[i] = ctx.Err(); errs[i] == nil {
				rows[i], errs[i] = s.row(ctx, id)
			}
			<-free
		})
	}
	reading.Wait()
	var readable []report.Stored
	var unreadable []string
	for i, err := range errs {
		if err != nil {
			unreadable = append(unreadable, err.Error())
		} else {
			readable = append(readable, rows[i])
		}
	}
	return report.OfStored(s.folder, readable, unreadable, notice), ctx.Err()
}

// row reads a run file, unless it is as it was.
func (s *Stored) row(ctx context.Context, id string) (row report.Stored, err error) {
	info, err := os.Stat(s.file(id))
	if err != nil {
		return row, err
	}
	is := state{id, info.Size(), info.ModTime().UnixNano()}
	if row, read := s.rows.Load(is); read {
		return row.(report.Stored), nil
	}
	r, err := run.ReadFile(ctx, s.file(id))
	if err == nil {
		row = report.NewStored(id, r)
		s.rows.Store(is, row)
	}
	return row, err
}

// run shows one run.
func (s *Stored) run(q *http.Request) (report.Page, error) {
	sets, err := s.choose(q.Context(), q.URL.Query()["id"])
	if err != nil {
		return report.Page{}, err
	}
	if len(sets) != 1 || len(sets[0].Runs) != 1 {
		return report.Page{}, errors.New("expected the id of one run")
	}
	return report.OfRun(sets[0].Runs[0]), nil
}

// choose reads the runs of each id. A run belongs to the first id that names it.
func (s *Stored) choose(ctx context.Context, chosen []string) (sets []compare.Set, err error) {
	all, err := s.ids(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(chosen, func(a, b string) int { return len(a) - len(b) }) // folders before what is in them
	below := func(id, one string) bool { return id == "." || one == id || strings.HasPrefix(one, id+"/") }
	for _, id := range chosen {
		if !slices.ContainsFunc(all, func(one string) bool { return below(id, one) }) {
			return nil, fmt.Errorf("%q: %w: there is no run below it", id, fs.ErrNotExist)
		}
		sets = append(sets, compare.Set{Name: id})
	}
	for _, one := range all {
		if i := slices.IndexFunc(chosen, func(id string) bool { return below(id, one) }); i >= 0 {
			r, err := run.ReadFile(ctx, s.file(one))
			if err != nil {
				return nil, err
			}
			sets[i].Runs = append(sets[i].Runs, r)
		}
	}
	return slices.DeleteFunc(sets, func(s compare.Set) bool { return len(s.Runs) == 0 }), nil
}

// compare shows sets side by side, the oldest first.
func (s *Stored) compare(q *http.Request) (_ report.Page, err error) {
	query := q.URL.Query()
	if len(query["id"]) == 0 {
		return s.list(q.Context(), "Nothing is ticked: tick two sets or runs or more.")
	}
	o := compare.Options{By: query.Get("by"), Force: true}
	if err := compare.CheckBy(o.By); err != nil {
		return report.Page{}, err
	}
	chosen := query["id"]
	for i, id := range chosen { // as report.OfStored has them in the form
		if chosen[i], err = url.PathUnescape(id); err != nil {
			return report.Page{}, err
		}
	}
	sets, err := s.choose(q.Context(), chosen)
	if err != nil {
		return report.Page{}, err
	}
	if o.By == "" {
		arrange(sets)
	}
	c, err := compare.Sets(q.Context(), sets, o)
	if err != nil {
		return report.Page{}, err
	}
	return report.OfComparison(c), nil
}

// arrange puts the oldest set first, and calls sets by their implementations if that tells them apart.
func arrange(sets []compare.Set) {
	oldest := func(s compare.Set) time.Time {
		return slices.MinFunc(s.Runs, func(a, b *run.Document) int { return a.Started.Compare(b.Started) }).Started
	}
	slices.SortStableFunc(sets, func(a, b compare.Set) int { return oldest(a).Compare(oldest(b)) })
	drivers := map[string]bool{}
	for _, s := range sets {
		drivers[s.Runs[0].Driver.String()] = true
	}
	for i, s := range sets {
		if len(drivers) == len(sets) {
			sets[i].Name = s.Runs[0].Driver.String()
		}
	}
}
