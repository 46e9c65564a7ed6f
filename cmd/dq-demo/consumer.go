package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq"
)

// consumerForms lists what parseConsumer understands.
const consumerForms = "take | poll-<duration> (poll-3s, poll-5s) | none"

// consumer is one of the document's ways to get at what is due: blocking, which
// is on time, or a look every so often, one value a look, which is late by half
// the pause and falls behind when more than one value comes due in it.
type consumer struct {
	none  bool
	pause time.Duration // 0 blocks
}

func parseConsumer(text string) (consumer, error) {
	switch text {
	case "take":
		return consumer{}, nil
	case "none":
		return consumer{none: true}, nil
	}
	if pause, ok := strings.CutPrefix(text, "poll-"); ok {
		if d, err := time.ParseDuration(pause); err == nil && d > 0 {
			return consumer{pause: d}, nil
		}
	}
	return consumer{}, fmt.Errorf("--consumer: expected %s, got %q", consumerForms, text)
}

// consume logs what is due until ctx ends. What was popped by then is logged
// before it returns.
func (s *service) consume(ctx context.Context, c consumer) {
	switch {
	case c.none:
		<-ctx.Done()
	case c.pause > 0:
		s.poll(ctx, c.pause)
	default:
		s.take(ctx)
	}
}

// take waits for each value. One that was popped when ctx ends is logged.
func (s *service) take(ctx context.Context) {
	for {
		e, err := s.queue.Take(ctx)
		switch {
		case err == nil:
			s.obtained(e)
		case ctx.Err() != nil || errors.Is(err, dq.ErrClosed):
			return
		default:
			s.failed(err)
			select {
			case <-time.After(takePause):
			case <-ctx.Done():
				return
			}
		}
	}
}

// takePause follows a take that failed.
const takePause = 100 * time.Millisecond

// poll looks for one value after each pause, the first one included.
func (s *service) poll(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		// The end of the service must not lose a value on its way here.
		values, err := s.queue.Poll(context.WithoutCancel(ctx), 1)
		for _, e := range values {
			s.obtained(e)
		}
		switch {
		case err == nil:
		case errors.Is(err, dq.ErrClosed):
			return
		case !errors.Is(err, dq.ErrEmpty):
			s.failed(err)
		}
		timer.Reset(pause)
	}
}

func (s *service) obtained(e entity) {
	s.log.Info("data obtained", e.attributes(s.now())...)
}

// failed keeps in the log what was popped and could not be read.
func (s *service) failed(err error) {
	var unread *dq.DecodeError
	if errors.As(err, &unread) {
		s.log.Error("a value that is no entity", "bytes", fmt.Sprintf("%q", unread.Data), "error", unread.Err)
		return
	}
	s.log.Error("nothing obtained", "error", err)
}
