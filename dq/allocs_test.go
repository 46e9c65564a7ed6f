package dq_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An offer allocates its encoded value, its command and what waits for the reply, and no more.
func TestOfferAllocatesLittle(t *testing.T) {
	b := setup(t)
	d := b.delayed(t)
	value := strings.Repeat("x", 100)
	allocated := testing.AllocsPerRun(2000, func() {
		if err := d.Offer(context.Background(), value, time.Hour); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%.1f an offer", allocated)
	require.LessOrEqual(t, allocated, 14.0)
}
