package run

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// Worker is what one of several workers that split a scenario knows. A message
// that one of them offers may be taken by any other, so none can tell on its own
// what was lost, came twice or is pending: Merge does, from these sets.
type Worker struct {
	// Number is the worker's as it was given to --worker. Its share are the
	// producers whose number is Number modulo Count.
	Number int `json:"number"`
	// Count is how many workers split the scenario, at least 2.
	Count int `json:"count"`
	// Confirmed are the messages whose offer by this worker was confirmed.
	Confirmed MessageSet `json:"confirmed"`
	// Delivered are the messages that this worker took, whoever offered them.
	Delivered MessageSet `json:"delivered"`
	// Removed are those that this worker cancelled.
	Removed MessageSet `json:"removed,omitempty"`
	// Held are those that were still held when this worker ended, whoever offered
	// them; NotDue are the ones among them that were not due yet.
	Held   MessageSet `json:"held,omitempty"`
	NotDue MessageSet `json:"not_due,omitempty"`
	// Unread tells that what was still held could not be read.
	Unread bool `json:"unread,omitempty"`
	// AskedSeconds is when that was asked for, after the start that the workers agreed on: the
	// latest answer is the one that holds.
	AskedSeconds float64 `json:"asked_seconds,omitempty"`
	// Objectives and Expected are what the whole is to be judged by (Document.Judge), each
	// as it was given.
	Objectives []string `json:"objectives,omitempty"`
	Expected   []string `json:"expected,omitempty"`
}

// keep notes what the whole is to be judged by.
func (w *Worker) keep(slos, expected []SLO) {
	w.Objectives, w.Expected = texts(slos), texts(expected)
}

func texts(slos []SLO) []string {
	var all []string
	for _, slo := range slos {
		all = append(all, slo.String())
	}
	return all
}

// String returns 2/4.
func (w *Worker) String() string { return fmt.Sprintf("%d/%d", w.Number, w.Count) }

// asked is when a worker asked what was still held, in seconds after the start of all. A file that does not say
// that tells when it had waited enough, which is just before.
func (r *Document) asked() float64 { return max(r.Worker.AskedSeconds, r.ElapsedSeconds) }

// lastAsked is when the last of all workers asked. What others were told before that does not hold any more:
// who is left takes on, and may find the server gone.
func lastAsked(workers []*Document) float64 {
	last := 0.
	for _, r := range workers {
		last = max(last, r.asked())
	}
	return last
}

// index is the share: which producers, modulo Count.
func (w *Worker) index() int { return w.Number % w.Count }

// workerVerdict passes: a worker sees a part only.
func (r *Document) workerVerdict() Verdict {
	text := fmt.Sprintf("Worker %s offered %d messages and took %d, its own or others'; 'dq-bench merge' judges the whole.",
		r.Worker, r.Counts.Offered, r.Counts.Delivered)
	if r.Interrupted {
		text = "Interrupted. " + text
	}
	return Verdict{Passed: true, Text: text}
}

// check refuses numbers that no worker has.
func (w *Worker) check() error {
	if w.Count < 2 || w.Number < 0 || w.Number > w.Count {
		return fmt.Errorf("damaged: worker %d of %d", w.Number, w.Count)
	}
	return nil
}

// MessageSet is a set of messages of the measured phase, in base64: a bitmap
// compressed by DEFLATE (RFC 1951). Bit i%8, counted from the lowest, of byte i/8
// stands for message i of the whole schedule; bytes that are left out at the end
// are 0. The empty string is the empty set.
type MessageSet string

// NewMessageSet encodes a bitmap.
func NewMessageSet(bitmap []byte) (MessageSet, error) {
	bitmap = bytes.TrimRight(bitmap, "\x00")
	if len(bitmap) == 0 {
		return "", nil
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(bitmap)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return "", fmt.Errorf("encode a set of messages: %w", err)
	}
	return MessageSet(base64.StdEncoding.EncodeToString(packed.Bytes())), nil
}

// Bitmap decodes the set as one of messages 0 to n-1. It fails on whatever is no
// such set.
func (s MessageSet) Bitmap(n int64) ([]byte, error) {
	if n < 0 || n > plan.MaxSharedMessages {
		return nil, fmt.Errorf("a set of %d messages: expected at most %d", n, plan.MaxSharedMessages)
	}
	size := (n + 7) / 8
	packed := flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(string(s))))
	bitmap := make([]byte, 0, size+1)
	if s != "" {
		// One byte more than there may be shows that there are too many.
		unpacked := bytes.NewBuffer(bitmap)
		if _, err := io.Copy(unpacked, io.LimitReader(packed, size+1)); err != nil {
			return nil, fmt.Errorf("a set of messages: expected base64 of a DEFLATE stream: %w", err)
		}
		bitmap = unpacked.Bytes()
	}
	if int64(len(bitmap)) > size {
		return nil, fmt.Errorf("a set of messages: holds more than the %d of the schedule", n)
	}
	bitmap = append(bitmap, make([]byte, size-int64(len(bitmap)))...)
	if over := n % 8; over != 0 && bitmap[len(bitmap)-1]>>over != 0 {
		return nil, fmt.Errorf("a set of messages: holds more than the %d of the schedule", n)
	}
	return bitmap, nil
}
