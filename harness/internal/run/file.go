package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Names of the files of one run.
const (
	File         = "run.json"
	LogFile      = "lateness.hlog"
	SpectrumFile = "lateness.hgrm"

	schemaPrefix   = "dq-bench/run/v"
	maxRunFileSize = 64 << 20
	maxCount       = 1e13 // a year at 300,000 a second; the sum over 100,000 runs is still a number
	maxObjectives  = 1000
)

// WriteFolder writes the files of a run to folder, which it makes: run.json, and then lateness.hgrm and, if there is a Log, lateness.hlog.
// Each file appears whole or not at all; run.json never in place of another. missing says that another file was not written.
func WriteFolder(folder string, r *Document) (missing, err error) {
	data, err := r.Encode()
	if err = errors.Join(err, os.MkdirAll(folder, 0o755)); err != nil {
		return nil, err
	}
	file := filepath.Join(folder, File)
	if _, err := os.Lstat(file); err == nil {
		return nil, fmt.Errorf("%s is there already, of another run, and is kept", file)
	}
	if err := WriteWhole(file, data); err != nil {
		return nil, err
	}
	missing = WriteWhole(filepath.Join(folder, SpectrumFile), r.Histograms.Lateness.spectrum())
	if missing == nil && r.Log != nil {
		missing = WriteWhole(filepath.Join(folder, LogFile), r.Log.Bytes())
	}
	return missing, nil
}

// Encode returns the run file: indented JSON with a final newline.
func (r *Document) Encode() ([]byte, error) {
	r.Schema = Schema
	var data bytes.Buffer
	out := json.NewEncoder(&data)
	out.SetEscapeHTML(false) // objectives are full of < and >
	out.SetIndent("", "  ")
	err := out.Encode(r)
	return data.Bytes(), err
}

// WriteWhole writes a file, whole or not at all: under another name and renames it.
func WriteWhole(path string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}

// ReadFile reads and checks one run file. A file that is not regular, such as a FIFO without a writer, is not opened.
func ReadFile(ctx context.Context, path string) (*Document, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: expected a regular file, got one of mode %s", path, info.Mode())
	}
	data, err := text.ReadFile(ctx, path, maxRunFileSize) // a file of /proc may never end
	if errors.Is(err, text.ErrTooLong) {
		err = fmt.Errorf("%w, a run.json of 'dq-bench run'", err)
	}
	if err != nil {
		return nil, err
	}
	r, err := Decode(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, err
}

// Decode reads and checks one run file. Unknown fields are ignored, so that a newer program may add some under the same
// schema. The words of the file are made inert: it may be from elsewhere.
func Decode(data []byte) (*Document, error) {
	var head struct{ Schema string }
	err := json.Unmarshal(data, &head)
	switch {
	case err != nil:
		return nil, fmt.Errorf("expected a run.json of 'dq-bench run', but this is no whole JSON object: %.80q", data)
	case head.Schema != Schema && strings.HasPrefix(head.Schema, schemaPrefix):
		return nil, fmt.Errorf("has schema %q, this program reads %q; use the dq-bench that wrote it, or a newer one", head.Schema, Schema)
	case head.Schema != Schema:
		return nil, fmt.Errorf("expected schema %q, got %q; is it a run.json of 'dq-bench run'?", Schema, head.Schema)
	}
	var r Document
	if err = json.Unmarshal(data, &r); err == nil {
		inert(reflect.ValueOf(&r).Elem())
		err = r.check()
	}
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return &r, nil
}

// inert takes out of all strings within v whatever would act on a terminal, or look like another line.
func inert(v reflect.Value) {
	switch v = reflect.Indirect(v); v.Kind() { // of a nil pointer it is invalid
	case reflect.String:
		v.SetString(text.Line(v.String()))
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				inert(value)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			inert(v.Index(i))
		}
	case reflect.Map:
		if words, ok := v.Interface().(map[string]string); ok {
			for key, value := range words {
				delete(words, key)
				words[text.Line(key)] = text.Line(value)
			}
		}
	}
}

// check refuses a file whose figures cannot be from one run.
func (r *Document) check() error {
	c, h := r.Counts, r.Histograms
	if h.Lateness == nil || h.OfferRTT == nil || h.ScheduleLag == nil {
		return errors.New("histogram lateness, offer_rtt or schedule_lag is missing")
	}
	for _, count := range AllCounts {
		if n := count.Of(c); n < 0 || n > maxCount {
			return fmt.Errorf("expected counts from 0 to %d, got %s %d", int64(maxCount), count.Name, n)
		}
	}
	m, s := *cmp.Or(r.Machine, &Machine{}), *cmp.Or(r.ServerStats, &ServerStats{})
	for _, bound := range []struct {
		what    string
		most    float64
		figures []float64
	}{
		{"elapsed_seconds", maxCount, []float64{r.ElapsedSeconds}},
		{"shares of time", 1.01, []float64{m.Hiccups.Share, m.BusyShare}},
		{"objectives", maxObjectives, []float64{float64(len(r.SLO))}},
		{"server statistics", maxCount, []float64{float64(s.TransferCalls), s.TransferCallsPerMessage, float64(s.Commands), s.CPUSeconds, s.CPUShare}},
	} {
		for _, v := range bound.figures {
			if v < 0 || v > bound.most {
				return fmt.Errorf("expected %s from 0 to %.0f, got %v", bound.what, bound.most, v)
			}
		}
	}
	for i, was := range r.SLO { // its figures are in the file
		if slo, err := ParseSLO(was.Expr); err == nil {
			r.SLO[i] = slo.Evaluate(r)
			r.SLO[i].Expected, r.SLO[i].Default = was.Expected, was.Default
		}
	}
	failures := strings.Join(r.failures(), "; ")
	switch values := h.Lateness.Count(); {
	case c.NotDue > c.Pending:
		return fmt.Errorf("%d messages pending, but %d of them not due", c.Pending, c.NotDue)
	case c.Delivered+c.Lost+c.Unknown+c.Pending+c.Removed != c.Offered:
		return fmt.Errorf("%d messages offered, but %d delivered, %d lost, %d unknown, %d pending, %d removed",
			c.Offered, c.Delivered, c.Lost, c.Unknown, c.Pending, c.Removed)
	case values != c.Delivered:
		return fmt.Errorf("%d messages delivered, but %d values of lateness", c.Delivered, values)
	case r.Verdict.Passed && failures != "":
		return fmt.Errorf("the verdict is passed, though: %s", failures)
	case !r.Verdict.Passed && r.Verdict.Text != "" && r.Valid() && r.Faults == nil && !r.Scenario.Climb && failures == "" && r.heldUp() == "":
		return fmt.Errorf("the verdict is not passed, though nothing is wrong: %.80q", r.Verdict.Text)
	case r.Verdict.Passed && (!r.Valid() || strings.Contains(r.Verdict.Text, "Failed: ")):
		return fmt.Errorf("the verdict is passed, though valid is %v and its text %.80q", r.Valid(), r.Verdict.Text)
	case r.Validity != nil && r.Validity.Valid != (len(r.Validity.Reasons) == 0):
		return fmt.Errorf("valid is %v, with the reasons %.80q", r.Validity.Valid, r.Validity.Reasons)
	case r.Started.IsZero(), r.Started.After(time.Now().AddDate(1, 0, 0)):
		return fmt.Errorf("it says that it was started at %s", r.Started.Format(time.RFC3339))
	case c.Offered > 0 && r.ElapsedSeconds == 0:
		return fmt.Errorf("%d messages offered in 0 seconds", c.Offered)
	}
	return errors.Join(r.checkSeconds(), r.checkPastDue())
}

// checkSeconds refuses seconds whose deliveries are not the deliveries of the run.
func (r *Document) checkSeconds() error {
	delivered, last := int64(0), 0.
	for _, i := range r.Intervals {
		if i.Second < last || min(i.Offered, i.Delivered, i.Pending) < 0 {
			return fmt.Errorf("a second that ends at %g s, after one at %g s, has %d offered, %d delivered, %d pending", i.Second, last, i.Offered, i.Delivered, i.Pending)
		}
		delivered, last = delivered+i.Delivered, i.Second
	}
	if len(r.Intervals) > 0 && delivered != r.Counts.Delivered {
		return fmt.Errorf("%d messages delivered, but %d in its seconds", r.Counts.Delivered, delivered)
	}
	return nil
}

// checkPastDue refuses messages that are not past due by their lateness and up to a millisecond.
func (r *Document) checkPastDue() error {
	late, past := r.Histograms.Lateness, r.Histograms.PastDue
	if past.Count() != late.Count() {
		return nil // an older run, or of an implementation with other due times
	}
	for _, q := range []float64{0, .1, .5, .9, .99, 1} {
		l, p := float64(late.Quantile(q)), float64(past.Quantile(q))
		if near := .01*float64(time.Millisecond) + .002*math.Abs(p); p < l-near || p > l+float64(time.Millisecond)+near {
			return fmt.Errorf("past due is %s at the share %g, but lateness %s", FormatNs(int64(p)), q, FormatNs(int64(l)))
		}
	}
	return nil
}

// ErrNoneFound says that a folder holds no run.
var ErrNoneFound = errors.New("expected at least one " + File + " below it, found 0")

// Find lists the run files that the paths name, sorted, each once: files, folders that hold run.json files at any depth, and
// globs of either. A link that is given is followed, and so is a link named run.json; a link to a folder within a folder is
// not. It fails if a path names no run, or a folder cannot be read.
func Find(ctx context.Context, paths ...string) (files []string, err error) {
	for _, path := range paths {
		matches, before := []string{path}, len(files)
		if _, err := os.Stat(path); err != nil {
			if matches, err = filepath.Glob(path); err != nil || !strings.ContainsAny(path, "*?[") {
				return nil, fmt.Errorf("%s: expected a run file, a folder of run files or a glob; there is no such file", path)
			}
		}
		for _, match := range matches {
			if info, err := os.Stat(match); err == nil && info.IsDir() {
				match += string(filepath.Separator) // a walk follows no link, be it the folder itself
			}
			err := filepath.WalkDir(match, func(file string, entry fs.DirEntry, err error) error {
				if err = errors.Join(err, ctx.Err()); err == nil && !entry.IsDir() && (file == match || entry.Name() == File) {
					files = append(files, filepath.Clean(file))
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s: %w", path, ErrNoneFound)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// NewFolder is PrepareFolder for a whole output. It refuses a folder that holds runs at any depth: they would be counted with the new ones.
func NewFolder(folder string) (tidy func(), err error) {
	tidy, err = PrepareFolder(folder)
	if err != nil {
		return nil, err
	}
	_ = filepath.WalkDir(folder+string(filepath.Separator), func(path string, entry fs.DirEntry, unread error) error {
		if unread == nil && !entry.IsDir() && entry.Name() == File {
			err = fmt.Errorf("output folder %s is used, and an earlier run is kept: it holds %s; choose another with --out, or remove it first", folder, filepath.Clean(path))
			return fs.SkipAll
		}
		return nil // what cannot be read, such as the lost+found of a volume, is passed over
	})
	return tidy, err
}

// PrepareFolder creates folder and proves that files can be written to it, before a load starts. The caller calls tidy in
// the end, which removes the folders that were made and are empty still.
func PrepareFolder(folder string) (tidy func(), err error) {
	var made []string // the innermost first
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, dir)
	}
	tidy = func() {
		for _, dir := range made {
			_ = os.Remove(dir) // which fails if it is not empty
		}
	}
	why := "cannot be created"
	if err = os.MkdirAll(folder, 0o755); err == nil {
		why, err = "is not writable", Writable(folder)
	}
	if err != nil {
		tidy()
		return nil, fmt.Errorf("output folder %s %s: %w; choose another with --out", folder, why, err)
	}
	return tidy, nil
}

// Writable proves that files can be written to a folder.
func Writable(folder string) error {
	probe, err := os.CreateTemp(folder, ".dq-bench-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	return err
}
