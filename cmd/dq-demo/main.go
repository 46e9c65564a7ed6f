// Command dq-demo is the web service of document 000 in Go: it logs a posted value after its delay.
//
//	go run ./cmd/dq-demo
//	curl -X POST 'http://127.0.0.1:8802/redissonQueue?data=a&expire=30000'
//
// It shares its queue with any Redisson whose RDelayedQueue has the same name, a JSON codec and the same side of release 3.21.1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	_ "github.com/dq-bench/dq-bench/internal/redis/container" // --redis container
)

const (
	// shutdownTimeout bounds the requests under way at the end, offerTimeout an offer, headerTimeout the head of a request.
	shutdownTimeout, offerTimeout, headerTimeout = 15 * time.Second, 10 * time.Second, 10 * time.Second
	// errorPause follows a look for a value that failed.
	errorPause = 100 * time.Millisecond
	// maxExpire is the longest delay in ms: the longest time.Duration, 292 years.
	maxExpire = math.MaxInt64 / int64(time.Millisecond)
	// maxBody bounds a form.
	maxBody = 1 << 20
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "dq-demo:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("dq-demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	server := flags.String("redis", "auto", "server: auto, container[:image], process[:path], embedded, redis://…, rediss://…")
	name := flags.String("queue", "redisson:queue", "name of the destination queue")
	listen := flags.String("listen", "127.0.0.1:8802", "address of the web service")
	release := flags.String("release", wire.Newest().String(), "Redisson release to be compatible with")
	pause := flags.Duration("poll", 0, "look for a value after each pause, as 3s or 5s; 0 waits for it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	srv, err := redis.Start(ctx, *server, func(line string) { fmt.Fprintln(stderr, line) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	rdb, err := redis.NewClient(srv.URL())
	if err != nil {
		return err
	}
	defer rdb.Close()
	client, err := dq.NewClient(rdb, dq.WithRelease(*release))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	queue, err := dq.NewQueue(client, *name, codec.JSON[entity]{})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	s := &service{queue, slog.New(slog.NewTextHandler(stderr, nil))}
	s.log.Info("listening", "url", "http://"+listener.Addr().String()+"/redissonQueue", "redis", srv.Addr, "queue", *name)
	return s.serve(ctx, listener, *pause)
}

// entity is the document's RedisDataEntity: a value, its delay in ms and when it was added, Unix ms.
type entity struct {
	Data   any   `json:"data"`
	Expire int64 `json:"expire"`
	Time   int64 `json:"time"`
}

// service is the document's web service.
type service struct {
	queue *dq.Queue[entity]
	log   *slog.Logger
}

// serve answers requests and consumes until ctx ends. Then the requests under way are answered.
func (s *service) serve(ctx context.Context, listener net.Listener, pause time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	var consumer sync.WaitGroup
	consumer.Go(func() { s.consume(ctx, pause) })
	defer consumer.Wait()
	defer stop()
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		ended <- web.Shutdown(ending)
	})
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("web service: %w", err)
	}
	return <-ended
}

// handler has POST /redissonQueue?data=a&expire=30000, answered with "ok". The parameters may be a form in the body too. Wrong
// ones are 400 with the reason, another method is 405, and an offer that Redis did not confirm is 503.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /redissonQueue", s.post)
	return mux
}

func (s *service) post(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	err := r.ParseForm()
	e := entity{Time: time.Now().UnixMilli()}
	if err == nil {
		e.Data, e.Expire, err = parameters(r.Form)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// A client that goes away must not leave open what became of its message.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), offerTimeout)
	defer cancel()
	if _, err := s.queue.Offer(ctx, e, time.Duration(e.Expire)*time.Millisecond); err != nil {
		s.log.Error("not added", "data", e.Data, "expire", e.Expire, "error", err) // it may have been, if err is dq.ErrUncertain
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	s.log.Info("data added", "data", e.Data, "expire", e.Expire, "time", e.Time)
	_, _ = io.WriteString(w, "ok")
}

// parameters reads data, which may be empty, and expire, in ms.
func parameters(form url.Values) (data string, expire int64, err error) {
	expire, err = strconv.ParseInt(form.Get("expire"), 10, 64)
	switch {
	case !form.Has("data"):
		return "", 0, errors.New("parameter data is missing: expected ?data=a&expire=30000")
	case err != nil || expire < 0 || expire > maxExpire:
		return "", 0, fmt.Errorf("parameter expire: expected the delay in ms, 0 to %d, such as expire=30000, got %.40q", maxExpire, form.Get("expire"))
	}
	return form.Get("data"), expire, nil
}

// consume logs due values until ctx ends.
func (s *service) consume(ctx context.Context, pause time.Duration) {
	for ctx.Err() == nil {
		e, err := s.next(ctx, pause)
		unread, foreign := errors.AsType[*dq.DecodeError](err)
		switch {
		case err == nil:
			s.log.Info("data obtained", "data", e.Data, "expire", e.Expire, "time", e.Time, "took_ms", time.Now().UnixMilli()-e.Time)
		case foreign:
			s.log.Error("a value that is no entity", "bytes", fmt.Sprintf("%q", unread.Data), "error", unread.Err)
		case ctx.Err() == nil && !errors.Is(err, dq.ErrEmpty):
			s.log.Error("nothing obtained", "error", err)
			time.Sleep(errorPause)
		}
	}
}

// next is one of the document's ways to take a due message: blocking, which is on time, or after a pause, which is late by half the
// pause and falls behind if more than one value is due in it.
func (s *service) next(ctx context.Context, pause time.Duration) (e entity, err error) {
	if pause <= 0 {
		return s.queue.Take(ctx)
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return e, ctx.Err()
	}
	values, err := s.queue.Poll(context.WithoutCancel(ctx), 1) // the end must not lose a value on its way here
	if len(values) > 0 {
		return values[0], nil
	}
	return e, err
}
