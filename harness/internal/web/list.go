package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

const (
	// pageRuns is from how many runs on a page of the list is full, and how many of a set it
	// shows.
	pageRuns = 200
)

// summary is what is known of a run file, while the file is as it was.
type summary struct {
	id      string
	size    int64
	at      time.Time
	started time.Time
	err     error // of reading when it was started
	// run is read when it is asked for.
	run *page.ListRun
}

// list shows all runs, those of a set together.
func (s *Stored) list(ctx context.Context, w io.Writer, query url.Values) error {
	return s.show(ctx, w, query, "")
}

// show shows a page of the list, and says something above it.
func (s *Stored) show(ctx context.Context, w io.Writer, query url.Values, notice string) error {
	all, err := s.summaries(ctx)
	if err != nil {
		return err
	}
	l := page.List{Folder: s.folder, Notice: notice}
	sets := map[string][]*summary{}
	for _, one := range all {
		if one.err != nil {
			l.Unreadable = append(l.Unreadable, one.err.Error())
			continue
		}
		sets[setOf(one.id)] = append(sets[setOf(one.id)], one)
		l.Runs++
	}
	l.AllSets = len(sets)
	ids := make([]string, 0, len(sets))
	for id, runs := range sets {
		slices.SortFunc(runs, func(a, b *summary) int { return cmp.Or(b.started.Compare(a.started), cmp.Compare(a.id, b.id)) })
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(sets[b][0].started.Compare(sets[a][0].started), strings.Compare(a, b))
	})
	pages := inPages(ids, func(id string) int { return len(sets[id]) })
	l.Pages = max(len(pages), 1)
	if l.Page, err = pageNumber(query.Get("page"), l.Pages); err != nil || len(pages) == 0 {
		return errors.Join(err, l.Write(w))
	}
	for _, id := range pages[l.Page-1] {
		set := page.ListSet{ID: id, All: len(sets[id])}
		for _, one := range sets[id][:min(len(sets[id]), pageRuns)] {
			if shown, err := s.listRun(one); err == nil {
				set.Runs = append(set.Runs, shown)
			} else {
				l.Unreadable = append(l.Unreadable, err.Error())
				l.Runs, set.All = l.Runs-1, set.All-1
			}
		}
		if len(set.Runs) == 0 {
			l.AllSets--
			continue
		}
		l.Sets = append(l.Sets, set)
	}
	return l.Write(w)
}

// inPages divides sets into pages of pageRuns runs or little more.
func inPages(ids []string, size func(string) int) [][]string {
	var pages [][]string
	room := 0
	for _, id := range ids {
		if room <= 0 {
			pages, room = append(pages, nil), pageRuns
		}
		pages[len(pages)-1] = append(pages[len(pages)-1], id)
		room -= size(id)
	}
	return pages
}

// pageNumber reads the number of a page, the first where none is asked for.
func pageNumber(text string, pages int) (int, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("expected the number of a page, from 1 on")
	}
	return min(n, pages), nil
}

// setOf is the folder that a series keeps the runs of one side in, or that of the run.
func setOf(id string) string {
	if strings.Trim(path.Base(id), "0123456789") == "" && strings.Contains(id, "/") {
		return path.Dir(id)
	}
	return id
}

// summaries are those of all runs; what is known of a file that is as it was is not read again.
func (s *Stored) summaries(ctx context.Context) ([]*summary, error) {
	ids, err := s.ids(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]*summary, len(ids))
	var reading sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, id := range ids {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		reading.Go(func() {
			all[i] = s.summary(id)
			<-free
		})
	}
	reading.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = make(map[string]*summary, len(all)) // without those that are gone
	for _, one := range all {
		s.known[one.id] = one
	}
	return all, nil
}

// summary is what is known of a run file.
func (s *Stored) summary(id string) *summary {
	info, err := os.Stat(s.file(id))
	if err != nil {
		return &summary{id: id, err: err}
	}
	s.mu.Lock()
	one := s.known[id]
	s.mu.Unlock()
	if one != nil && one.size == info.Size() && one.at.Equal(info.ModTime()) {
		return one
	}
	one = &summary{id: id, size: info.Size(), at: info.ModTime()}
	one.started, one.err = run.ReadStarted(s.file(id))
	return one
}

// listRun is what the list shows of a run.
func (s *Stored) listRun(one *summary) (page.ListRun, error) {
	s.mu.Lock()
	known := one.run
	s.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	r, err := run.ReadFile(s.file(one.id))
	if err != nil {
		return page.ListRun{}, err
	}
	shown := page.NewListRun(one.id, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	one.run = &shown
	return shown, nil
}
