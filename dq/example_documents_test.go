package dq_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

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
