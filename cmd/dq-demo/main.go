// Command dq-demo is the web service of document 000 in Go: it logs a posted value
// after its delay.
//
//	go run ./cmd/dq-demo
//	curl -X POST 'http://127.0.0.1:8802/redissonQueue?data=a&expire=30000'
//
// It shares its queue with any Redisson whose RDelayedQueue has the same name, a JSON
// codec and the same side of release 3.21.1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

const (
	readyTimeout    = 10 * time.Second
	shutdownTimeout = 15 * time.Second
	headerTimeout   = 10 * time.Second
)

// settings are the flags.
type settings struct {
	redis, queue, listen, release string
	pause                         time.Duration // of the consumer: see parseConsumer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	code := execute(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// execute returns the exit code, as dq-bench has it: 2 for wrong usage, 1 for an environment that cannot serve.
func execute(ctx context.Context, args []string, stderr io.Writer) int {
	code := 2
	s, err := parse(args, stderr)
	if err == nil {
		code, err = 1, run(ctx, s, stderr)
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(stderr, "dq-demo:", err)
	return code
}

func parse(args []string, stderr io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("dq-demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.redis, "redis", "auto", "server: auto, container[:image], process[:path], embedded, redis://…, rediss://…")
	flags.StringVar(&s.queue, "queue", "redisson:queue", "name of the destination queue")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8802", "address of the web service")
	flags.StringVar(&s.release, "release", wire.Newest().String(), "Redisson release to be compatible with")
	flags.Func("consumer", consumerForms, func(text string) (err error) { s.pause, err = parseConsumer(text); return err })
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("expected flags only, got %q", flags.Arg(0))
	}
	if s.queue == "" {
		return s, errors.New("--queue: expected a name, got an empty one")
	}
	_, errRelease := wire.LookupRelease(s.release)
	_, errRedis := redis.Parse(s.redis)
	return s, errors.Join(errRelease, errRedis)
}

// run serves until ctx ends.
func run(ctx context.Context, s settings, stderr io.Writer) (err error) {
	srv, err := redis.Start(ctx, s.redis, func(line string) { fmt.Fprintln(stderr, line) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	rdb, err := redis.NewClient(srv.URL())
	if err != nil {
		return err
	}
	defer rdb.Close()
	client, err := dq.NewClient(rdb, dq.WithRelease(s.release))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	queue, err := dq.NewQueue(client, s.queue, codec.JSON[entity]{})
	if err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := queue.Ready(ready); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	service := &service{queue: queue, log: slog.New(slog.NewTextHandler(stderr, nil))}
	service.log.Info("listening", "url", "http://"+listener.Addr().String()+"/redissonQueue", "redis", srv.Addr, "queue", s.queue)
	return service.serve(ctx, listener, s.pause)
}

// serve answers requests and consumes until ctx ends. Then the requests under
// way are answered, and values that the consumer has popped are logged.
func (s *service) serve(ctx context.Context, listener net.Listener, pause time.Duration) error {
	consuming, stop := context.WithCancel(context.WithoutCancel(ctx))
	consumed := make(chan struct{})
	go func() { s.consume(consuming, pause); close(consumed) }()
	defer func() { stop(); <-consumed }()
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: headerTimeout}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("web service: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := web.Shutdown(ending); err != nil {
		return fmt.Errorf("requests that did not end within %s: %w", shutdownTimeout, err)
	}
	return nil
}
