package codec_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// exchanged is how many messages of each codec a real Redisson and dq exchange.
const exchanged = 1000

// TestRedissonAndGoExchangeMessages has a real Redisson offer messages of hundreds of
// classes in each codec. Go reads them, cancels every second one by the value that it has
// read, and offers these anew, as it writes them itself. Redisson takes them all: none is
// missing, and none is wrong.
func TestRedissonAndGoExchangeMessages(t *testing.T) {
	redistest.Redisson(t, "3.21.1")
	seed := seedOfCorpus(t)
	program := compileCorpus(t, seed).at(t, "3.21.1")
	uids := readCorpus(t, program.run(t, "corpus.Corpus", nil, "write", fmt.Sprint(seed), "1", "kryo5")).uids
	server := redistest.Redis(t)
	var offers, codecs strings.Builder
	for _, name := range corpusCodecs {
		for _, number := range wholeMessages(seed, name) {
			fmt.Fprintf(&offers, "%s\t%d\n", name, number)
		}
		fmt.Fprintf(&codecs, "%s\n", name)
	}
	offered := byCodec(program.run(t, "corpus.Exchange", strings.NewReader(offers.String()), "offer", server.URL(), fmt.Sprint(seed)))

	options, err := redis.ParseURL(server.URL())
	require.NoError(t, err)
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := dq.NewClient(rdb, dq.WithRelease("3.21.1"))
	require.NoError(t, err)
	for _, name := range corpusCodecs {
		require.Len(t, offered[name], exchanged)
		values, err := codec.ByName(name, goClasses(newCorpus(seed, name, uids))...)
		require.NoError(t, err)
		cancelAndOffer(t, client, "orders-"+string(name), values, offered[name])
	}
	require.NoError(t, client.Close())

	taken := byCodec(program.run(t, "corpus.Exchange", strings.NewReader(codecs.String()), "take", server.URL(), fmt.Sprint(seed)))
	for _, name := range corpusCodecs {
		slices.Sort(offered[name])
		slices.Sort(taken[name])
		require.Equal(t, offered[name], taken[name], name)
	}
}

// cancelAndOffer reads the messages that wait, cancels every second one, and offers it
// again in bytes of its own.
func cancelAndOffer(t *testing.T, client *dq.Client, name string, values codec.Codec[any], want []string) {
	ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
	defer cancel()
	delayed := dq.NewDelayedQueue(dq.NewBlockingQueue(client, name, codec.Keep(values)))
	require.NoError(t, delayed.Ready(ctx))
	all, err := client.Redisson(ctx, wire.ScriptReadAll, []string{wire.NamesOf(name).Pending})
	require.NoError(t, err)
	require.Len(t, all, len(want))
	var read []codec.Raw[any]
	for i, data := range all.([]any) {
		message, err := codec.Keep(values).Decode([]byte(data.(string)))
		require.NoError(t, err)
		read = append(read, message)
		require.Equal(t, want[i], describe(reflect.ValueOf(message.Value()), false))
		if i%2 == 0 {
			continue
		}
		removed, err := delayed.Remove(ctx, message)
		require.NoError(t, err)
		require.True(t, removed)
	}
	size, err := delayed.Size(ctx)
	require.NoError(t, err)
	require.Equal(t, len(want)/2, size)
	for i, message := range read {
		if i%2 == 1 {
			require.NoError(t, delayed.Offer(ctx, codec.RawOf(message.Value()), time.Hour))
		}
	}
}

// wholeMessages returns the numbers of messages that Redisson can write in a codec, and of
// which no Go struct leaves a field out.
func wholeMessages(seed uint64, name codec.Name) (numbers []int) {
	classes := newCorpus(seed, name, nil)
	lacks, records := lacking(classes), holders(classes, func(c *corpusClass) bool { return c.kind == corpusRecord })
	classes = slices.DeleteFunc(classes, func(c *corpusClass) bool { return !c.isMessage() })
	for i := 0; len(numbers) < exchanged; i++ {
		c := classes[i%len(classes)]
		if !lacks[c] && (name != codec.NameMarshalling || !records[c]) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// byCodec returns the descriptions that the program has printed.
func byCodec(lines []byte) map[codec.Name][]string {
	all := map[codec.Name][]string{}
	for line := range strings.Lines(string(lines)) {
		if name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			all[codec.Name(name)] = append(all[codec.Name(name)], text)
		}
	}
	return all
}
