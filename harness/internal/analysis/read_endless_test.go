package analysis_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// endless is a line without an end, in which somebody stops the reading.
type endless struct {
	stop  func()
	reads int
	fill  byte
}

func (e *endless) Read(p []byte) (int, error) {
	if e.reads++; e.reads == 100 {
		e.stop()
	}
	for i := range p {
		p[i] = e.fill
	}
	return len(p), nil
}

func TestALineWithoutAnEndCanBeInterrupted(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	r := &analysis.Reader{Analysis: analysis.New()}
	require.ErrorIs(t, r.Log(ctx, opened(&endless{stop: stop, fill: 'x'})), context.Canceled)
}

// A device that brings NUL bytes for ever is refused.
func TestNoText(t *testing.T) {
	t.Parallel()
	r := &analysis.Reader{Analysis: analysis.New()}
	require.ErrorIs(t, r.Log(t.Context(), opened(&endless{stop: func() {}})), trace.ErrNoText)
}

func opened(r io.Reader) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(r), nil }
}
