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
)

// service is the document's web service: a posted value is logged after its
// delay.
type service struct {
	queue *dq.Queue[entity]
	log   *slog.Logger
	now   func() time.Time
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
	e := newEntity(data, expire, s.now())
	// A client that goes away must not leave open what became of its message.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), offerTimeout)
	defer cancel()
	if _, err := s.queue.Offer(ctx, e, time.Duration(expire)*time.Millisecond); err != nil {
		s.log.Error("not added", "data", data, "expire", expire, "error", err)
		http.Error(w, refusal(err), http.StatusServiceUnavailable)
		return
	}
	s.log.Info("data added", "data", data, "expire", expire, "time", *e.Time)
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
	if !form.Has("expire") {
		return "", 0, errors.New("parameter expire is missing: expected the delay in ms, such as expire=30000")
	}
	text := form.Get("expire")
	expire, err = strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && text[0] != '-', err == nil && expire > maxExpire:
		return "", 0, fmt.Errorf("parameter expire is too large: expected at most %d ms, got %.40s", maxExpire, text)
	case errors.Is(err, strconv.ErrRange), err == nil && expire < 0:
		return "", 0, fmt.Errorf("parameter expire is negative: expected 0 ms or more, got %.40s", text)
	case err != nil:
		return "", 0, fmt.Errorf("parameter expire is no number: expected a delay in whole ms, such as 30000, got %.40q", text)
	}
	return form.Get("data"), expire, nil
}
