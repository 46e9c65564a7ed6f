package driver

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseNamesExternalPrograms(t *testing.T) {
	d, err := Parse("redisson:3.16.6")
	require.NoError(t, err)
	require.Equal(t, Identity{"redisson", "3.16.6"}, d.Identity())
	d, err = Parse("exec:./port --fast")
	require.NoError(t, err)
	require.Equal(t, "exec:./port --fast", d.Identity().String())
	for _, spec := range []string{"redisson", "redisson:9.9", "exec:", "exec:'open"} {
		_, err := Parse(spec)
		var wrong *SpecError
		require.ErrorAs(t, err, &wrong, spec)
	}
}

// A program without the op load is a queue by its ops; one program serves many.
func TestRemoteOpensQueuesByOps(t *testing.T) {
	for _, codec := range []string{"string", "bytes"} {
		t.Run(codec, func(t *testing.T) {
			t.Setenv(fakeProgramEnv, "queue "+codec)
			d, err := Parse("exec:'" + os.Args[0] + "'")
			require.NoError(t, err)
			queues, err := OpenQueues(t.Context(), d, Target{RedisURL: "redis://127.0.0.1:1"}, []string{"orders", "bills"})
			require.NoError(t, err)
			require.Len(t, queues, 2)
			for _, q := range queues {
				poller, _ := q.(Poller)
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
				removed, err := q.(Remover).Remove(t.Context(), []byte("gone"))
				require.NoError(t, err)
				require.True(t, removed)
				require.NoError(t, q.Close())
				require.NoError(t, q.Close())
			}
		})
	}
}

func TestRemoteTellsWhatAProgramLacks(t *testing.T) {
	t.Setenv(fakeProgramEnv, "plain")
	d, err := Parse("exec:'" + os.Args[0] + "'")
	require.NoError(t, err)
	_, err = d.Open(t.Context(), Target{})
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
