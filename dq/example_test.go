package dq_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// exampleRedis stands for your Redis: an embedded one here, so that the examples
// run anywhere.
func exampleRedis() (*goredis.Client, func()) {
	s, err := redis.Start(context.Background(), "embedded", nil)
	if err != nil {
		log.Fatal(err)
	}
	opt, err := goredis.ParseURL(s.URL())
	if err != nil {
		log.Fatal(err)
	}
	rdb := goredis.NewClient(opt)
	return rdb, func() { _, _ = rdb.Close(), s.Close() }
}

func ExampleDelayedQueue() {
	rdb, stop := exampleRedis()
	defer stop()
	client, err := dq.NewClient(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	orders := dq.NewBlockingQueue(client, "orders", codec.String{})
	delayed := dq.NewDelayedQueue(orders)
	defer delayed.Close()
	if err := delayed.Offer(ctx, "cancel order 7", 20*time.Millisecond); err != nil {
		log.Fatal(err)
	}
	value, err := orders.Take(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(value)
	// Output: cancel order 7
}

// A queue that is shared with Java services on an older Redisson.
func ExampleWithRelease() {
	rdb, stop := exampleRedis()
	defer stop()
	client, err := dq.NewClient(rdb, dq.WithRelease("3.16.6"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(client.Release())

	_, err = dq.NewClient(rdb, dq.WithRelease("3.16.9"))
	fmt.Println(err)
	// Output:
	// 3.16.6
	// there is no Redisson release 3.16.9 with RDelayedQueue; the nearest is 3.16.8 (known: 2.7.0 to 4.7.0)
}

func ExampleWithObserver() {
	rdb, stop := exampleRedis()
	defer stop()
	transferred := make(chan string, 1)
	client, err := dq.NewClient(rdb, dq.WithObserver(func(e dq.Event) {
		switch e := e.(type) {
		case dq.Transferred:
			select {
			case transferred <- e.Queue:
			default:
			}
		case dq.Disconnected:
			log.Println(e.Err)
		}
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	dq.NewDelayedQueue(dq.NewBlockingQueue(client, "orders", codec.String{}))
	fmt.Println(<-transferred)
	// Output: orders
}

// One Client serves any number of queues, over one subscription connection.
func ExampleClient() {
	rdb, stop := exampleRedis()
	defer stop()
	client, err := dq.NewClient(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	for _, name := range []string{"orders", "reminders"} {
		queue := dq.NewBlockingQueue(client, name, codec.Long{})
		if err := dq.NewDelayedQueue(queue).Offer(ctx, 7, 0); err != nil {
			log.Fatal(err)
		}
		value, err := queue.Take(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(queue.Name(), value)
	}
	// Output:
	// orders 7
	// reminders 7
}

// An order is paid: the message that would have cancelled it is cancelled itself.
func ExampleDelayedQueue_Cancel() {
	rdb, stop := exampleRedis()
	defer stop()
	client, err := dq.NewClient(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	delayed := dq.NewDelayedQueue(dq.NewBlockingQueue(client, "orders", codec.String{}))
	ticket, err := delayed.OfferTicket(ctx, "order 7 is unpaid", 15*time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	column := ticket.String() // kept with the order

	ticket, err = dq.ParseTicket(column)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(delayed.Cancel(ctx, ticket))
	fmt.Println(errors.Is(delayed.Cancel(ctx, ticket), dq.ErrNotWaiting))
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

	ctx := context.Background()
	rdb.RPush(ctx, "orders", "no number")
	_, err = dq.NewBlockingQueue(client, "orders", codec.Long{}).Poll(ctx)
	var undecodable *dq.DecodeError
	fmt.Println(errors.As(err, &undecodable), string(undecodable.Data))
	// Output: true no number
}
