// Command dq-demo is the web service of document 000 in Go: it logs a posted value
// after its delay.
//
//	go run ./cmd/dq-demo
//	curl -X POST 'http://127.0.0.1:8802/redissonQueue?data=a&expire=30000'
//
// It shares its queue with any Redisson whose RDelayedQueue has the same name,
// codec and side of release 3.21.1.
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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Exit codes, as dq-bench has them.
const (
	exitOK          = 0
	exitEnvironment = 1
	exitUsage       = 2
)

const (
	readyTimeout    = 10 * time.Second
	shutdownTimeout = 15 * time.Second
	headerTimeout   = 10 * time.Second
)

// settings are the flags, all of them found valid.
type settings struct {
	redis, queue, listen string
	release              dq.Option
	codec                codec.Codec[entity]
	consumer             consumer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	code := execute(ctx, os.Args[1:], os.LookupEnv, os.Stderr)
	stop()
	os.Exit(code)
}

func execute(ctx context.Context, args []string, env func(string) (string, bool), stderr io.Writer) int {
	s, err := parse(args, env, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(stderr, "dq-demo:", err)
		return exitUsage
	}
	if err := run(ctx, s, stderr); err != nil {
		fmt.Fprintln(stderr, "dq-demo:", err)
		return exitEnvironment
	}
	return exitOK
}

// parse reads the flags, and DQ_<FLAG> for missing flags.
func parse(args []string, env func(string) (string, bool), stderr io.Writer) (settings, error) {
	var s settings
	var release, codecName, class, style string
	var uid int64
	flags := flag.NewFlagSet("dq-demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.redis, "redis", "auto", "server: auto, container[:image], process[:path], embedded, redis://…, rediss://…")
	flags.StringVar(&s.queue, "queue", "redisson:queue", "name of the destination queue")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8802", "address of the web service")
	flags.StringVar(&release, "release", "", "Redisson release to be compatible with (default the newest)")
	flags.StringVar(&codecName, "codec", "typed-json", "how values are written: "+joinNames())
	flags.StringVar(&class, "class", "RedisDataEntity", "full name of the Java class, which every codec but typed-json writes")
	flags.Int64Var(&uid, "serial-version-uid", 0, "of the Java class, for marshalling and serialization; as the JDK's serialver prints it")
	flags.StringVar(&style, "consumer", "take", consumerForms)
	if err := fromEnv(flags, env); err != nil {
		return s, err
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("expected flags only, got %q", flags.Arg(0))
	}
	if s.queue == "" {
		return s, errors.New("--queue: expected a name, got an empty one")
	}
	if release == "" {
		release = wire.Newest().String()
	}
	s.release = dq.WithRelease(release)
	var errCodec, errStyle error
	s.codec, errCodec = newCodec(codecName, class, uid)
	s.consumer, errStyle = parseConsumer(style)
	_, errRelease := wire.LookupRelease(release)
	if errRelease != nil {
		errRelease = fmt.Errorf("--release: %w", errRelease)
	}
	_, errRedis := redis.Parse(s.redis)
	return s, errors.Join(errCodec, errStyle, errRelease, errRedis)
}

// fromEnv sets flags from DQ_<FLAG>; the command line is read later and wins.
func fromEnv(flags *flag.FlagSet, env func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(f *flag.Flag) {
		name := "DQ_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, ok := env(name); ok && value != "" {
			if err := flags.Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	return errors.Join(errs...)
}

// run serves until ctx ends.
func run(ctx context.Context, s settings, stderr io.Writer) (err error) {
	log := slog.New(slog.NewTextHandler(stderr, nil))
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
	client, err := dq.NewClient(rdb, s.release)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	queue, err := dq.NewQueue(client, s.queue, s.codec)
	if err != nil {
		return err
	}
	service := &service{queue: queue, log: log, now: time.Now}
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := queue.Ready(ready); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	log.Info("listening", "url", "http://"+listener.Addr().String()+"/redissonQueue", "redis", srv.Addr, "queue", s.queue)
	return service.serve(ctx, listener, s.consumer)
}

// serve answers requests and consumes until ctx ends. Then the requests under
// way are answered, and values that the consumer has popped are logged.
func (s *service) serve(ctx context.Context, listener net.Listener, c consumer) error {
	consuming, stop := context.WithCancel(context.WithoutCancel(ctx))
	var consumers sync.WaitGroup
	consumers.Go(func() { s.consume(consuming, c) })
	defer consumers.Wait()
	defer stop()
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
