package dq_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// exampleRedis stands for your Redis: an embedded one here, so that the examples run anywhere.
func exampleRedis() (*goredis.Client, func()) {
	s := must(redis.Start(context.Background(), "embedded", nil))
	rdb := goredis.NewClient(must(goredis.ParseURL(s.URL())))
	return rdb, func() { _, _ = rdb.Close(), s.Close() }
}

// exampleQueue is a queue on exampleRedis.
func exampleQueue(options ...dq.Option) (*dq.Client, *dq.Queue[string], func()) {
	rdb, stop := exampleRedis()
	client := must(dq.NewClient(rdb, options...))
	return client, must(dq.NewQueue(client, "orders", codec.String{})), func() { _ = client.Close(); stop() }
}

func ExampleNewQueue() {
	rdb, stop := exampleRedis()
	defer stop()
	client, err := dq.NewClient(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	type order struct {
		ID   int
		Name string
	}
	orders, err := dq.NewQueue(client, "orders", codec.JSON[order]{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if _, err := orders.Offer(ctx, order{7, "bob"}, 20*time.Millisecond); err != nil {
		log.Fatal(err)
	}
	value, err := orders.Take(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(value.ID, value.Name)
	// Output: 7 bob
}

// A queue that is shared with Java services on an older Redisson.
func ExampleWithRelease() {
	client, _, stop := exampleQueue(dq.WithRelease("3.16.6"))
	defer stop()
	fmt.Println(client.Release())

	rdb, stopAnother := exampleRedis()
	defer stopAnother()
	_, err := dq.NewClient(rdb, dq.WithRelease("3.16.9"))
	fmt.Println(err)
	// Output:
	// 3.16.6
	// no Redisson release 3.16.9 is known here; the nearest is 3.16.8 (known: 2.7.0 to 4.7.0)
}

// All events in a log, in one line.
func ExampleWithObserver() {
	seen := make(chan dq.Event, 1000)
	client, orders, stop := exampleQueue(
		dq.WithObserver(func(e dq.Event) { slog.Debug("dq", "event", fmt.Sprintf("%T%+v", e, e)) }),
		dq.WithObserver(func(e dq.Event) { seen <- e }))
	defer stop()
	defer client.Close()
	if _, err := orders.Offer(context.Background(), "order 7", time.Hour); err != nil {
		log.Fatal(err)
	}
	for e := range seen {
		if e, ok := e.(dq.Offered); ok {
			fmt.Println(e.Queue, e.Messages)
			return
		}
	}
	// Output: orders 1
}

// An order is paid: the message that would have cancelled it is cancelled itself.
func ExampleQueue_Cancel() {
	_, orders, stop := exampleQueue()
	defer stop()
	ctx := context.Background()
	ticket, err := orders.Offer(ctx, "order 7 is unpaid", 15*time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	column := ticket.String() // kept with the order

	ticket, err = dq.ParseTicket(column)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(orders.Cancel(ctx, ticket))
	fmt.Println(errors.Is(orders.Cancel(ctx, ticket), dq.ErrNotWaiting))
	// Output:
	// <nil>
	// true
}

// A value that another codec wrote is popped all the same: the error has it.
func ExampleDecodeError() {
	rdb, stop := exampleRedis()
	defer stop()
	client, err := dq.NewClient(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	numbers, err := dq.NewQueue(client, "numbers", codec.Long{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	rdb.RPush(ctx, "numbers", "no number")
	_, err = numbers.Take(ctx)
	var undecodable *dq.DecodeError
	fmt.Println(errors.As(err, &undecodable), string(undecodable.Data))
	// Output: true no number
}

// A message that fails is handled again, and is a dead letter in the end.
func ExampleWorker() {
	client, orders, stop := exampleQueue()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	worker := dq.NewWorker(client, dq.WorkerOptions{MaxAttempts: 2, Backoff: func(int) time.Duration { return 0 }})
	dq.Handle(worker, orders, func(_ context.Context, m *dq.Message[string]) error {
		fmt.Println("attempt", m.Attempt)
		if m.Attempt == 2 {
			cancel() // Run ends when this handler has
		}
		return errors.New("the bank does not answer")
	})
	if _, err := orders.Offer(ctx, "order 7", 0); err != nil {
		log.Fatal(err)
	}
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
	for letter, err := range orders.Dead(context.Background()) {
		fmt.Println(letter.Value, letter.Attempts, letter.Reason, err)
	}
	// Output:
	// attempt 1
	// attempt 2
	// order 7 2 the bank does not answer <nil>
}

// A service that SIGTERM ends while one of its handlers hangs: Shutdown has a deadline, and Run has no context that ends.
func ExampleWorker_Shutdown() {
	client, orders, stopRedis := exampleQueue()
	defer stopRedis()
	const grace = 50 * time.Millisecond
	hung := make(chan struct{})
	defer close(hung)
	cancelOrder := func(context.Context, string) error {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGTERM) // as the platform does
		}
		<-hung // whatever the context says
		return nil
	}
	if _, err := orders.Offer(context.Background(), "order 7", 0); err != nil {
		log.Fatal(err) //nolint:gocritic // the example ends anyway
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	worker := dq.NewWorker(client, dq.WorkerOptions{Concurrency: 8, MaxAttempts: 5, Lease: 30 * time.Second})
	dq.Handle(worker, orders, func(ctx context.Context, m *dq.Message[string]) error { return cancelOrder(ctx, m.Value) })
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(context.Background()) }() // until Shutdown
	var err error
	select {
	case err = <-ran: // the Worker could not start, or the Client was closed
	case <-ctx.Done():
		ending, cancel := context.WithTimeout(context.Background(), grace) // such as 20 s: 6 s less than the platform waits
		defer cancel()
		err = worker.Shutdown(ending) // waits for the handlers; a *ShutdownError names those that hang
	}

	var hanging *dq.ShutdownError
	fmt.Println(errors.As(err, &hanging) && len(hanging.Running) == 1, <-ran)
	// Output: true <nil>
}

// One queue over several names, so that the masters of a Cluster share it: a producer takes any partition, and one Worker handles all.
func ExamplePartitionName() {
	client, _, stop := exampleQueue()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	worker := dq.NewWorker(client, dq.WorkerOptions{})
	var orders []*dq.Queue[string]
	var handled sync.WaitGroup
	for i := range 3 {
		partition, err := dq.NewQueue(client, dq.PartitionName("orders", i), codec.String{})
		if err != nil {
			log.Fatal(err)
		}
		dq.Handle(worker, partition, func(context.Context, *dq.Message[string]) error { handled.Done(); return nil })
		orders = append(orders, partition)
	}
	for id := range 6 {
		handled.Add(1)
		if _, err := orders[id%len(orders)].Offer(ctx, fmt.Sprint("order ", id), 0); err != nil {
			log.Fatal(err)
		}
	}
	go func() { handled.Wait(); cancel() }()
	fmt.Println(worker.Run(ctx))
	// Output: <nil>
}

// delayQueueKit is a component with one client: the queue's code is an argument, and values are text.
type delayQueueKit struct{ client *dq.Client }

func (k delayQueueKit) add(ctx context.Context, queueCode, message string, delay time.Duration) error {
	queue, err := dq.NewQueue(k.client, queueCode, codec.String{})
	if err != nil {
		return err
	}
	_, err = queue.Offer(ctx, message, delay) // the queue stays open: it transfers what comes due
	return err
}

func (k delayQueueKit) consume(ctx context.Context, queueCode string, handle func(string) error) error {
	queue, err := dq.NewQueue(k.client, queueCode, codec.String{})
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		message, err := queue.Take(ctx)
		if err == nil {
			err = handle(message)
		}
		if err != nil && ctx.Err() == nil {
			log.Print(err)
		}
	}
	return nil
}

func Example_kit() {
	client, _, stop := exampleQueue()
	defer stop()
	kit := delayQueueKit{client}
	ctx, cancel := context.WithCancel(context.Background())
	for i, message := range []string{"order 7", "order 8"} {
		if err := kit.add(ctx, "order:timeout", message, time.Duration(i+1)*20*time.Millisecond); err != nil {
			log.Fatal(err) //nolint:gocritic // the example ends anyway
		}
	}
	_ = kit.consume(ctx, "order:timeout", func(message string) error {
		fmt.Println(message)
		if message == "order 8" {
			cancel()
		}
		return nil
	})
	// Output:
	// order 7
	// order 8
}

// Two threads: one offers messages that are due one behind the other, the other takes them.
func Example_twoThreads() {
	_, queue, stop := exampleQueue()
	defer stop()
	ctx := context.Background()
	go func() {
		for i, message := range []string{"first", "second", "third"} {
			if _, err := queue.Offer(ctx, message, time.Duration(i+1)*20*time.Millisecond); err != nil {
				log.Print(err)
			}
		}
	}()
	for range 3 {
		message, err := queue.Take(ctx)
		if err != nil {
			log.Fatal(err) //nolint:gocritic // the example ends anyway
		}
		fmt.Println(message)
	}
	// Output:
	// first
	// second
	// third
}
