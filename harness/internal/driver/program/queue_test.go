package program

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// A program without the op load is a queue by its ops; one program serves many.
func TestProcessOpensQueuesByOps(t *testing.T) {
	for _, codec := range []string{"string", "bytes"} {
		t.Run(codec, func(t *testing.T) {
			t.Setenv(fakeProgramEnv, "queue "+codec)
			d, err := Parse("exec:'" + os.Args[0] + "'")
			require.NoError(t, err)
			queues, err := d.Open(t.Context(), driver.Target{RedisURL: "redis://127.0.0.1:1"}, "orders", "bills")
			require.NoError(t, err)
			require.Len(t, queues, 2)
			for _, q := range queues {
				poller, _ := q.(driver.Poller)
				require.NotNil(t, poller)
				_, found, err := poller.Poll(t.Context())
				require.NoError(t, err)
				require.False(t, found)
				require.NoError(t, q.Offer(t.Context(), []byte("hello"), time.Second))
				value, err := q.Take(t.Context())
				require.NoError(t, err)
				require.Equal(t, "hello", string(value))
				require.NoError(t, q.Offer(t.Context(), []byte("again"), 0))
				value, found, err = poller.Poll(t.Context())
				require.NoError(t, err)
				require.True(t, found)
				require.Equal(t, "again", string(value))
				removed, err := q.(driver.Remover).Remove(t.Context(), []byte("gone"))
				require.NoError(t, err)
				require.True(t, removed)
				require.NoError(t, q.Close())
				require.NoError(t, q.Close())
			}
		})
	}
}

func TestProcessTellsWhatAProgramLacks(t *testing.T) {
	t.Setenv(fakeProgramEnv, "plain")
	d, err := Parse("exec:'" + os.Args[0] + "'")
	require.NoError(t, err)
	_, err = d.Open(t.Context(), driver.Target{}, "orders")
	require.ErrorContains(t, err, "lacks the op open")
}

func FuzzDecodeRemoteValue(f *testing.F) {
	f.Add(`{"t":"string","v":"hello"}`)
	f.Add(`{"t":"bytes","v":"aGVsbG8="}`)
	f.Add(`{"t":"long","v":"42"}`)
	f.Fuzz(func(_ *testing.T, answer string) {
		_, _ = decodeRemoteValue(remoteTake, []byte(answer))
	})
}
