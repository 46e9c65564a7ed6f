package dq_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

// mapBean is demo.MapBean of the vectors, as codec gen writes it.
type mapBean struct {
	_      struct{}          `java:"demo.MapBean,serialVersionUID=50"`
	Value  map[string]string `json:"value"`
	ZZ     string            `json:"zz"`
	Origin codec.Origin      `json:"-"`
}

// A value that was made here has no Origin: it is found in whatever map Redisson held it, and one with an Origin in that
// kind alone.
func TestAValueMadeHereIsFound(t *testing.T) {
	vectors, err := os.ReadFile("codec/testdata/fields/3.21.1.tsv")
	require.NoError(t, err)
	b := setup(t)
	ctx := deadline(t)
	for _, name := range []codec.Name{codec.NameKryo5, codec.NameMarshalling, codec.NameSerialization} {
		values, err := codec.ByName(name, codec.Class{Of: mapBean{}})
		require.NoError(t, err)
		queue := dq.NewBlockingQueue(b.client, string(name), values)
		delayed := dq.NewDelayedQueue(queue)
		t.Cleanup(func() { require.NoError(t, delayed.Close()) })
		kept := 0
		var sorted any // in a TreeMap
		for line := range strings.Lines(string(vectors)) {
			cells := strings.Split(strings.TrimSpace(line), "\t")
			if cells[0] != string(name) || cells[1] != "demo.MapBean" || cells[4] == "-" {
				continue
			}
			stored := unhex(cells[4])
			read, err := values.Decode([]byte(stored))
			require.NoError(t, err)
			made := read.(mapBean)
			made.Origin = codec.Origin{}
			if made.Value["b"] != "" && sorted == nil {
				sorted = read
			}

			require.NoError(t, b.redis.RPush(ctx, queue.Name(), stored).Err())
			found, err := queue.Contains(ctx, made)
			require.NoError(t, err)
			require.True(t, found, line)
			if read.(mapBean).Origin != (codec.Origin{}) {
				kept++
				found, err = queue.Contains(ctx, sorted)
				require.NoError(t, err)
				require.Equal(t, reflect.DeepEqual(sorted, read), found, line)
			}
			removed, err := queue.Remove(ctx, made)
			require.NoError(t, err)
			require.True(t, removed, line)

			require.NoError(t, delayed.Offer(ctx, read, time.Hour))
			found, err = delayed.Contains(ctx, made)
			require.NoError(t, err)
			require.True(t, found, line)
			removed, err = delayed.Remove(ctx, made)
			require.NoError(t, err)
			require.True(t, removed, line)
		}
		require.Greater(t, kept, 2, name)
	}
}
