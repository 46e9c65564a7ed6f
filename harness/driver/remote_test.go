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

// A program without the op load is a queue by its ops.
func TestRemoteOpensAQueueByOps(t *testing.T) {
	t.Setenv(fakeProgramEnv, "queue")
	d, err := Parse("exec:'" + os.Args[0] + "'")
	require.NoError(t, err)
	q, err := d.Open(t.Context(), Target{RedisURL: "redis://127.0.0.1:1", Queue: "orders"})
	require.NoError(t, err)
	require.NoError(t, q.Offer(t.Context(), []byte("hello"), time.Second))
	value, err := q.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, "hello", string(value))
	require.NoError(t, q.Close())
}

func TestRemoteTellsWhatAProgramLacks(t *testing.T) {
	t.Setenv(fakeProgramEnv, "plain")
	d, err := Parse("exec:'" + os.Args[0] + "'")
	require.NoError(t, err)
	_, err = d.Open(t.Context(), Target{})
	require.ErrorContains(t, err, "neither the op load nor open")
}
