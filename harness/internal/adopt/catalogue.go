package adopt

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// addRelease puts a release into its place in a list of them, one a line, oldest first.
func addRelease(list []wire.Release, release wire.Release) string {
	if !slices.Contains(list, release) {
		list = append(slices.Clone(list), release)
		slices.SortFunc(list, wire.Release.Compare)
	}
	var text strings.Builder
	for _, r := range list {
		fmt.Fprintln(&text, r)
	}
	return text.String()
}

// parseReleases reads such a list.
func parseReleases(text string) ([]wire.Release, error) {
	var list []wire.Release
	for line := range strings.Lines(text) {
		r, err := wire.ParseRelease(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// rows are dq/wire/scripts/variants.csv, the head first.
type rows struct {
	all    [][]string
	column map[string]int
}

// columns are those of the file.
var columns = []string{
	"object", "method", "variant", "first_3x", "last_3x", "first_2x", "last_2x", "sha1", "bytes", "keys", "args", "file", "recorded_from",
	"reply", "cost",
}

func parseRows(text []byte) (*rows, error) {
	all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 || !slices.Equal(all[0], columns) {
		return nil, fmt.Errorf("expected the columns %s", strings.Join(columns, ","))
	}
	r := &rows{all: all, column: map[string]int{}}
	for i, name := range columns {
		r.column[name] = i
	}
	return r, nil
}

func (r *rows) get(row []string, name string) string { return row[r.column[name]] }

func (r *rows) set(row []string, name, value string) { row[r.column[name]] = value }

// text is the file.
func (r *rows) text() (string, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	if err := w.WriteAll(r.all); err != nil {
		return "", err
	}
	return out.String(), nil
}

// adopt notes which scripts a release sends: the range of each text that it was seen to send
// begins or ends with it where it did with the release before or after it, and a new text
// gets a row. known are the releases that the file knows, ascending. What no range can say is
// left as it is and told.
func (r *rows) adopt(release wire.Release, known []wire.Release, scripts []Script) (left []string) {
	line := lineOf(known, release)
	for _, row := range r.all[1:] {
		sent := slices.ContainsFunc(scripts, func(s Script) bool { return s.Here && s.SHA1 == r.get(row, "sha1") })
		if why := r.extend(row, line, sent); why != "" {
			left = append(left, fmt.Sprintf("dq/wire/scripts/variants.csv: %s: %s", r.get(row, "variant"), why))
		}
	}
	for _, s := range scripts {
		if s.New != nil {
			r.add(release, s)
		}
	}
	return left
}

// neighbours are a release and those known before and after it on its line, 2.x or later, by
// the columns of that line; zero where there is none.
type neighbours struct {
	release, before, after wire.Release
	first, last            string // columns
}

func lineOf(known []wire.Release, release wire.Release) neighbours {
	n := neighbours{release: release, first: "first_3x", last: "last_3x"}
	if release.Major == 2 {
		n.first, n.last = "first_2x", "last_2x"
	}
	for _, k := range known {
		switch {
		case (k.Major == 2) != (release.Major == 2) || k == release:
		case release.AtLeast(k):
			n.before = k
		case n.after == wire.Release{}:
			n.after = k
		}
	}
	return n
}

// extend has a row say whether the release sends its text. It returns why it cannot.
func (r *rows) extend(row []string, n neighbours, sent bool) string {
	first, err1 := wire.ParseRelease(r.get(row, n.first))
	last, err2 := wire.ParseRelease(r.get(row, n.last))
	if err1 != nil || err2 != nil {
		if sent {
			r.set(row, n.first, n.release.String())
			r.set(row, n.last, n.release.String())
		}
		return ""
	}
	covered := n.release.AtLeast(first) && last.AtLeast(n.release)
	switch {
	case covered == sent:
		return ""
	case covered:
		return fmt.Sprintf("its range %s to %s holds %s, which was not seen to send it", first, last, n.release)
	case last == n.before:
		r.set(row, n.last, n.release.String())
	case first == n.after:
		r.set(row, n.first, n.release.String())
	default:
		return fmt.Sprintf("%s sends it, and its range is %s to %s: one range cannot say both", n.release, first, last)
	}
	return ""
}

// add makes the row of a new text, behind the last one of its name.
func (r *rows) add(release wire.Release, s Script) {
	n := s.New
	row := make([]string, len(columns))
	object, method, reply, cost := "RDelayedQueue", strings.Join(n.Calls, " / "), "", ""
	if n.Near != nil {
		object, method, reply, cost = n.Near.Object, n.Near.Method, n.Near.Reply, n.Near.Cost
	}
	line := lineOf(nil, release)
	for name, value := range map[string]string{
		"object": object, "method": method, "variant": n.Variant, line.first: release.String(), line.last: release.String(),
		"sha1": s.SHA1, "bytes": strconv.Itoa(len(n.Text)), "keys": n.Keys, "args": n.Args,
		"file": n.file(), "recorded_from": release.String(), "reply": reply, "cost": cost,
	} {
		r.set(row, name, value)
	}
	at := len(r.all)
	for i, other := range r.all {
		if variantName(r.get(other, "variant")) == variantName(n.Variant) {
			at = i + 1
		}
	}
	r.all = slices.Insert(r.all, at, row)
}
