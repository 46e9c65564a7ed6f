package dqotel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/dqotel"
)

type recorder struct {
	noop.TracerProvider
	mu    sync.Mutex
	spans []*span
}

type span struct {
	noop.Span
	name    string
	context trace.SpanContext
	parent  trace.SpanContext
	status  codes.Code
	ended   bool
}

func (r *recorder) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{recorder: r} }

type tracer struct {
	noop.Tracer
	recorder *recorder
}

func (t tracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	r := t.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &span{name: name, parent: trace.SpanContextFromContext(ctx)}
	s.context = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(len(r.spans) + 1)}})
	r.spans = append(r.spans, s)
	return trace.ContextWithSpan(ctx, s), s
}

func (s *span) SpanContext() trace.SpanContext       { return s.context }
func (s *span) SetStatus(code codes.Code, _ string)  { s.status = code }
func (s *span) End(...trace.SpanEndOption)           { s.ended = true }
func (s *span) TracerProvider() trace.TracerProvider { return nil }

// What a handler calls is a child of its span.
func TestWrap(t *testing.T) {
	var r recorder
	handler := dqotel.Wrap(&r)(func(ctx context.Context, _ dq.Delivery) error {
		_, child := r.Tracer("").Start(ctx, "SELECT")
		child.End()
		return errors.New("no")
	})
	require.EqualError(t, handler(t.Context(), dq.Delivery{Queue: "orders", ID: "7", Attempt: 2}), "no")
	require.Len(t, r.spans, 2)
	require.Equal(t, "process orders", r.spans[0].name)
	require.Equal(t, codes.Error, r.spans[0].status)
	require.True(t, r.spans[0].ended)
	require.Equal(t, r.spans[0].context, r.spans[1].parent)
}

func ExampleWrap() {
	provider := &recorder{} // otel.GetTracerProvider() in a service
	wrap := dqotel.Wrap(provider)
	_ = wrap(func(context.Context, dq.Delivery) error { return nil })(context.Background(), dq.Delivery{Queue: "orders"})
	fmt.Println(provider.spans[0].name)
	// Output: process orders
}
