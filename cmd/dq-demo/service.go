package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq"
)

const (
	// maxExpire is the longest delay in ms: the longest time.Duration, 292 years.
	maxExpire = math.MaxInt64 / int64(time.Millisecond)
	// maxBody bounds a form.
	maxBody = 1 << 20
	// offerTimeout bounds one offer.
	offerTimeout = 10 * time.Second
	// takePause follows a take that failed.
	takePause = 100 * time.Millisecond
)

// entity is the document's RedisDataEntity: a value, its delay in ms and when it
// was added, Unix ms. Data is an Object in Java, the two others are Longs.
type entity struct {
	Data   any    `json:"data"`
	Expire *int64 `json:"expire"`
	Time   *int64 `json:"time"`
}

// service is the document's web service: a posted value is logged after its
// delay.
type service struct {
	queue *dq.Queue[entity]
	log   *slog.Logger
}

// handler has POST /redissonQueue?data=a&expire=30000, answered with "ok". The
// parameters may be a form in the body too. Wrong ones are 400 with the reason,
// another method is 405, and an offer that Redis did not confirm is 503.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /redissonQueue", s.post)
	return mux
}

func (s *service) post(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		http.Error(w, fmt.Sprintf("expected parameters in the URL or a form: %v", err), http.StatusBadRequest)
		return
	}
	data, expire, err := parameters(r.Form)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	added := time.Now().UnixMilli()
	// A client that goes away must not leave open what became of its message.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), offerTimeout)
	defer cancel()
	if _, err := s.queue.Offer(ctx, entity{data, &expire, &added}, time.Duration(expire)*time.Millisecond); err != nil {
		s.log.Error("not added", "data", data, "expire", expire, "error", err)
		http.Error(w, refusal(err), http.StatusServiceUnavailable)
		return
	}
	s.log.Info("data added", "data", data, "expire", expire, "time", added)
	_, _ = io.WriteString(w, "ok")
}

// refusal answers a client, which learns whether to send its message again.
func refusal(err error) string {
	if errors.Is(err, dq.ErrUncertain) {
		return "Redis did not answer: the message may have been added"
	}
	return "the message was not added: " + err.Error()
}

// parameters reads data, which may be empty, and expire, in ms.
func parameters(form url.Values) (data string, expire int64, err error) {
	if !form.Has("data") {
		return "", 0, errors.New("parameter data is missing: expected ?data=a&expire=30000")
	}
	expire, err = strconv.ParseInt(form.Get("expire"), 10, 64)
	if err != nil || expire < 0 || expire > maxExpire {
		return "", 0, fmt.Errorf("parameter expire: expected the delay in ms, 0 to %d, such as expire=30000, got %.40q", maxExpire, form.Get("expire"))
	}
	return form.Get("data"), expire, nil
}

// consumerForms lists what a consumer understands.
const consumerForms = "take | poll-<duration> (poll-3s, poll-5s) | none"

// parseConsumer reads one of the document's ways to take due messages: blocking, which is on time, or polling, one value
// a poll, which is late by half the pause and falls behind if more than one value is due in it. It returns the pause; 0
// blocks, and a negative one takes nothing.
func parseConsumer(text string) (time.Duration, error) {
	switch every, polls := strings.CutPrefix(text, "poll-"); {
	case polls:
		if pause, err := time.ParseDuration(every); err == nil && pause > 0 {
			return pause, nil
		}
	case text == "take":
		return 0, nil
	case text == "none":
		return -1, nil
	}
	return 0, errors.New("expected " + consumerForms)
}

// consume logs due values until ctx ends, also values popped by then.
func (s *service) consume(ctx context.Context, pause time.Duration) {
	for pause >= 0 && ctx.Err() == nil {
		e, err := s.next(ctx, pause)
		var unread *dq.DecodeError
		switch {
		case err == nil:
			s.log.Info("data obtained", e.attributes(time.Now())...)
		case ctx.Err() != nil || errors.Is(err, dq.ErrClosed):
			return
		case errors.As(err, &unread):
			s.log.Error("a value that is no entity", "bytes", fmt.Sprintf("%q", unread.Data), "error", unread.Err)
		case !errors.Is(err, dq.ErrEmpty):
			s.log.Error("nothing obtained", "error", err)
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

// attributes are the entity for a log line, and how long it took until now. What
// another service left out is left out.
func (e entity) attributes(now time.Time) []any {
	list := []any{slog.Any("data", e.Data)}
	if e.Expire != nil {
		list = append(list, slog.Int64("expire", *e.Expire))
	}
	if e.Time != nil {
		list = append(list, slog.Int64("time", *e.Time), slog.Int64("took_ms", now.UnixMilli()-*e.Time))
	}
	return list
}
