package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names of the files of one run.
const (
	File           = "run.json"
	LogFile        = "lateness.hlog"
	SpectrumFile   = "lateness.hgrm"
	schemaPrefix   = "dq-bench/run/v"
	maxRunFileSize = 64 << 20
	maxLogFileSize = 1 << 30
	maxCount       = 1e13 // a year at 300,000 a second; the sum over 100,000 runs is still a number
)

// BesideError says that a file beside run.json could not be written, which is there.
type BesideError struct{ Err error }

func (e *BesideError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *BesideError) Unwrap() error { return e.Err }

// WriteFolder writes the files of a run to folder, which must exist: run.json, and then
// lateness.hgrm and, unless log is nil, lateness.hlog. Each file appears whole or not
// at all; run.json never in place of one that is there. Its error is a *BesideError if only
// the others are missing.
func WriteFolder(folder string, r *Document, log *LatenessLog) error {
	if err := CheckUnused(folder); err != nil {
		return err
	}
	data, err := r.Encode()
	if err != nil {
		return err
	}
	if err := writeAs(filepath.Join(folder, File), data, moveNew); err != nil {
		return err
	}
	var spectrum bytes.Buffer
	err = WriteSpectrum(&spectrum, r.Histograms.Lateness)
	if err == nil {
		err = WriteWhole(filepath.Join(folder, SpectrumFile), spectrum.Bytes())
	}
	if err == nil && log != nil {
		err = WriteWhole(filepath.Join(folder, LogFile), log.Bytes())
	}
	if err != nil {
		return &BesideError{err}
	}
	return nil
}

// Encode returns the run file: indented JSON with a final newline.
func (r *Document) Encode() ([]byte, error) {
	r.Schema = Schema
	var data bytes.Buffer
	out := json.NewEncoder(&data)
	out.SetEscapeHTML(false) // objectives are full of < and >
	out.SetIndent("", "  ")
	if err := out.Encode(r); err != nil {
		return nil, fmt.Errorf("encode run file: %w", err)
	}
	return data.Bytes(), nil
}

// WriteWhole writes a file, whole or not at all: under another name and renames it.
func WriteWhole(path string, data []byte) error { return writeAs(path, data, os.Rename) }

// moveNew is os.Rename to a name that nobody has.
func moveNew(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return os.Rename(from, to) // on a file system without links
}

func writeAs(path string, data []byte, move func(from, to string) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err == nil {
		err = move(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}

// ReadFile reads and checks one run file. What is no regular file, such as a FIFO that
// nobody writes to, is not opened.
func ReadFile(path string) (*Document, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("run file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("run file %s: expected a regular file, got %s", path, kindOf(info.Mode()))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("run file: %w", err)
	}
	defer file.Close()
	r, err := Decode(file)
	if err != nil {
		return nil, fmt.Errorf("run file %s: %w", path, err)
	}
	r.file = path
	return r, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a device or socket"
}

// Path is where the run was read from, empty if it was not.
func (r *Document) Path() string { return r.file }

// Decode reads and checks one run file. Unknown fields are ignored, so that a
// newer program may add some under the same schema.
func Decode(source io.Reader) (*Document, error) {
	data, err := io.ReadAll(io.LimitReader(source, maxRunFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRunFileSize {
		return nil, fmt.Errorf("larger than %d MiB, expected a run.json of 'dq-bench run'", maxRunFileSize>>20)
	}
	if err := checkSchema(data); err != nil {
		return nil, err
	}
	var r Document
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	r.oneLine()
	return &r, r.check()
}

func checkSchema(data []byte) error {
	var head struct {
		Schema string          `json:"schema"`
		Worker json.RawMessage `json:"worker"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("expected a run.json of 'dq-bench run', but this is no JSON object: %w", err)
	}
	switch {
	case head.Worker != nil:
		return errors.New("is one worker's part of a run, and no run: load from several hosts by 'dq-bench run --listen --agents'")
	case head.Schema == Schema:
		return nil
	case strings.HasPrefix(head.Schema, schemaPrefix):
		return fmt.Errorf("has schema %q, this program reads %q; use the dq-bench that wrote it, or a newer one", head.Schema, Schema)
	default:
		return fmt.Errorf("expected schema %q, got %q; is it a run.json of 'dq-bench run'?", Schema, head.Schema)
	}
}

// clean reports whether the file has nothing that a run could fail for.
func (r *Document) clean() bool {
	c := r.Counts
	wrong := c.Faults() + c.OfferErrors + c.Pending - c.NotDue + c.Foreign + int64(len(r.AgentFaults))
	return wrong == 0 && c.Offered > 0 && r.Valid() && r.Faults == nil && !r.heldUp() && (r.Warmup == nil || r.Warmup.Lost == 0) &&
		!slices.ContainsFunc(r.SLO, func(o Objective) bool { return !o.Met })
}

// check refuses a file whose figures cannot have come from one run.
func (r *Document) check() error {
	for name, h := range map[string]*Histogram{
		"lateness": r.Histograms.Lateness, "offer_rtt": r.Histograms.OfferRTT, "schedule_lag": r.Histograms.ScheduleLag,
	} {
		if h == nil {
			return fmt.Errorf("damaged: histogram %s is missing", name)
		}
	}
	c := r.Counts
	if c.negative() {
		return fmt.Errorf("damaged: a negative count in %+v", c)
	}
	if c.beyond(maxCount) {
		return fmt.Errorf("damaged: a count above %d in %+v", int64(maxCount), c)
	}
	if c.NotDue > c.Pending {
		return fmt.Errorf("damaged: %d messages pending, but %d of them not due", c.Pending, c.NotDue)
	}
	if c.Delivered+c.Lost+c.Unknown+c.Pending+c.Removed > c.Offered {
		return fmt.Errorf("damaged: %d messages offered, but %d delivered, %d lost, %d unknown, %d pending, %d removed",
			c.Offered, c.Delivered, c.Lost, c.Unknown, c.Pending, c.Removed)
	}
	if err := r.ServerStats.check(); err != nil {
		return err
	}
	if r.Verdict.Passed && (len(r.AgentFaults) > 0 || slices.ContainsFunc(r.SLO, func(o Objective) bool { return !o.Met })) {
		return fmt.Errorf("damaged: the verdict is passed, though an objective is missed or an agent failed")
	}
	if !r.Verdict.Passed && r.Verdict.Text != "" && r.clean() {
		return fmt.Errorf("damaged: the verdict is not passed, though nothing is wrong: %.80q", r.Verdict.Text)
	}
	if r.Started.IsZero() {
		return errors.New("damaged: it does not say when it was started")
	}
	// Of a message that two workers took, each has a value.
	n, again := r.Histograms.Lateness.Count(), int64(0)
	if r.Workers > 1 {
		again = c.Duplicate
	}
	if n < c.Delivered || n > c.Delivered+again {
		return fmt.Errorf("damaged: %d messages delivered, but %d values of lateness", c.Delivered, n)
	}
	return nil
}
