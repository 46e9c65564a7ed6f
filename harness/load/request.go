package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/run"
)

// loadRequest are the arguments of the op load (PROTOCOL.md).
type loadRequest struct {
	Redis        string      `json:"redis"`
	Queue        string      `json:"queue"`
	RunID        string      `json:"runId"`
	Producers    whole       `json:"producers"`
	Consumers    whole       `json:"consumers"`
	Rate         float64     `json:"rate"`
	Duration     whole       `json:"duration"`
	Warmup       whole       `json:"warmup"`
	DelayMin     whole       `json:"delayMin"`
	DelayMax     whole       `json:"delayMax"`
	PayloadBytes whole       `json:"payloadBytes"`
	Seed         json.Number `json:"seed"`
	StartAt      whole       `json:"startAt,omitempty"`
	Drain        whole       `json:"drain"`
}

// loadAnswer is the result of the op load: a piece of a run file.
type loadAnswer struct {
	StartedUnixNs  json.Number    `json:"started_unix_ns"`
	ElapsedSeconds float64        `json:"elapsed_seconds"`
	Counts         run.Counts     `json:"counts"`
	TakeErrors     int64          `json:"take_errors"`
	Warmup         run.Counts     `json:"warmup"`
	Histograms     run.Histograms `json:"histograms"`
	Intervals      []run.Interval `json:"intervals"`
	Notes          []string       `json:"notes,omitempty"`
}

// loadEvent is the event progress of the op load.
type loadEvent struct {
	run.Interval
	Phase       string `json:"phase"`
	Planned     int64  `json:"planned"`
	OfferErrors int64  `json:"offer_errors"`
	// Lateness is the interval's histogram, missing if the program keeps none.
	Lateness json.RawMessage `json:"lateness,omitempty"`
}

// whole is a whole number, which a program may also be given as a string.
type whole int64

// UnmarshalJSON reads 7 and "7".
func (w *whole) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseInt(string(bytes.Trim(data, `"`)), 10, 64)
	if err != nil {
		return fmt.Errorf("expected a whole number, got %.40s", data)
	}
	*w = whole(n)
	return nil
}

func millis(d time.Duration) whole { return whole(d.Milliseconds()) }

// duration returns w ms; what is too long for a Duration becomes the longest.
func (w whole) duration() time.Duration {
	const longest = whole(1<<63-1) / whole(time.Millisecond)
	return time.Duration(max(min(w, longest), -longest)) * time.Millisecond
}

// RunRequest carries out the op load of PROTOCOL.md on a driver of this process,
// for a program in Go that speaks the protocol. arguments is the request, event
// gets each progress event's fields, and the answer is the op's result. When ctx
// ends the offers stop, what is due soon is drained, and the result tells of what
// was done.
func RunRequest(ctx context.Context, d driver.Driver, arguments []byte, event func(fields any)) (answer any, err error) {
	request := loadRequest{Seed: "0", PayloadBytes: whole(HeaderSize), Drain: millis(DefaultPlan().DrainTimeout)}
	if err := json.Unmarshal(arguments, &request); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	o, err := request.options()
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	o.Driver = d
	o.Progress = func(p Progress) {
		e := loadEvent{Interval: p.Interval, Phase: string(rune(p.Phase)), Planned: p.Planned, OfferErrors: p.OfferErrors}
		if p.Lateness != nil {
			e.Lateness, _ = json.Marshal(p.Lateness) // without it the caller knows less, and the run is as good
		}
		event(e)
	}
	if err := sleepUntil(ctx, int64(request.StartAt)); err != nil {
		return nil, err
	}
	result, err := Run(ctx, o)
	if err != nil {
		return nil, err
	}
	r := result.Report
	return loadAnswer{
		StartedUnixNs: json.Number(strconv.FormatInt(r.Started.UnixNano(), 10)), ElapsedSeconds: r.ElapsedSeconds,
		Counts: r.Counts, Histograms: r.Histograms, Intervals: r.Intervals, Notes: r.Notes,
	}, nil
}

// options makes the plan, which Run validates.
func (q loadRequest) options() (Options, error) {
	runID, errID := strconv.ParseUint(q.RunID, 16, 32)
	if errID != nil {
		errID = fmt.Errorf("runId: expected 8 hex digits, got %.20q", q.RunID)
	}
	seed, errSeed := strconv.ParseUint(q.Seed.String(), 10, 64)
	if errSeed != nil {
		errSeed = fmt.Errorf("seed: expected 0 to 2^64-1, got %s", q.Seed)
	}
	p := DefaultPlan()
	p.Producers, p.Consumers, p.Rate = int(q.Producers), int(q.Consumers), Rate(q.Rate)
	p.Duration, p.Warmup, p.DrainTimeout = q.Duration.duration(), q.Warmup.duration(), q.Drain.duration()
	p.Delay = Delay{Min: q.DelayMin.duration(), Max: q.DelayMax.duration()}
	p.PayloadSize, p.Seed, p.Queue = int(q.PayloadBytes), seed, q.Queue
	return Options{Plan: p, RedisURL: q.Redis, RunID: uint32(runID)}, errors.Join(errID, errSeed)
}

// sleepUntil waits for a Unix time in ns; one that has passed is no wait.
func sleepUntil(ctx context.Context, ns int64) error {
	timer := time.NewTimer(time.Until(time.Unix(0, ns)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
