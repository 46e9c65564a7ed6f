// Package dqotel makes OpenTelemetry spans of the messages that a dq.Worker handles.
//
//	worker := dq.NewWorker(client, dq.WorkerOptions{Wrap: dqotel.Wrap(otel.GetTracerProvider())})
//
// Each call of a handler is a span "process QUEUE", of kind consumer, and calls of the handler with its context are children of
// it. The wire format has no place for a trace: the span begins one, unless the handler's context has a span.
package dqotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/dq-bench/dq-bench/dq"
)

const scope = "github.com/dq-bench/dq-bench/dq/dqotel"

// Wrap returns middleware for dq.WorkerOptions.Wrap.
func Wrap(provider trace.TracerProvider) func(next dq.Handler) dq.Handler {
	tracer := provider.Tracer(scope)
	return func(next dq.Handler) dq.Handler {
		return func(ctx context.Context, d dq.Delivery) error {
			ctx, span := tracer.Start(ctx, "process "+d.Queue, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
				attribute.String("messaging.system", "redis"),
				attribute.String("messaging.operation.name", "process"),
				attribute.String("messaging.destination.name", d.Queue),
				attribute.String("messaging.message.id", d.ID),
				attribute.Int("dq.attempt", d.Attempt),
			))
			defer span.End()
			err := next(ctx, d)
			if err != nil {
				span.RecordError(err)
				span.SetStatus(codes.Error, err.Error())
			}
			return err
		}
	}
}
