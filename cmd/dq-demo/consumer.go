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

// consumer is one of the document's ways to take due messages: blocking, which
// is on time, or polling, one value a poll, which is late by half
// the pause and falls behind if more than one value is due in it.
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

// takePause follows a take that failed.
const takePause = 100 * time.Millisecond

// consume logs due values until ctx ends, also values popped by then.
func (s *service) consume(ctx context.Context, c consumer) {
	for !c.none && ctx.Err() == nil {
		switch e, err := s.next(ctx, c.pause); {
		case err == nil:
			s.log.Info("data obtained", e.attributes(s.now())...)
		case ctx.Err() != nil || errors.Is(err, dq.ErrClosed):
			return
		case !errors.Is(err, dq.ErrEmpty):
			s.failed(err)
			sleep(ctx, takePause)
		}
	}
}

// next waits for a value, or looks for one after a pause.
func (s *service) next(ctx context.Context, pause time.Duration) (e entity, err error) {
	if pause == 0 {
		return s.queue.Take(ctx)
	}
	if sleep(ctx, pause); ctx.Err() != nil {
		return e, ctx.Err()
	}
	values, err := s.queue.Poll(context.WithoutCancel(ctx), 1) // the end must not lose a value on its way here
	if len(values) > 0 {
		return values[0], nil
	}
	return e, err
}

func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// failed logs a popped value that could not be read.
func (s *service) failed(err error) {
	var unread *dq.DecodeError
	if errors.As(err, &unread) {
		s.log.Error("a value that is no entity", "bytes", fmt.Sprintf("%q", unread.Data), "error", unread.Err)
		return
	}
	s.log.Error("nothing obtained", "error", err)
}
