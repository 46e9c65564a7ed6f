package codec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/forensics/migrate"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// TestRedissonTakesWhatWasRecoded has a real Redisson offer messages of hundreds of classes in one codec.
// They are rewritten in another one, and a Redisson of another release takes them with that: all in their
// order, equal and due when they were, but for those that are refused, which are as they were.
func TestRedissonTakesWhatWasRecoded(t *testing.T) {
	servertest.Redisson(t)
	seed := seedOfCorpus(t)
	java := compileCorpus(t, seed)
	library, err := classfile.Open(java.dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	for _, way := range []struct {
		from, to     codec.Name
		offers, take string // the releases
	}{
		{codec.NameMarshalling, codec.NameKryo5, "3.16.6", "4.7.0"},
		{codec.NameKryo5, codec.NameMarshalling, "4.7.0", "3.16.6"},
		{codec.NameSerialization, codec.NameKryo5, "3.16.6", "4.7.0"},
		{codec.NameKryo5, codec.NameSerialization, "4.7.0", "3.16.6"},
		{codec.NameMarshalling, codec.NameSerialization, "3.16.6", "4.7.0"},
		{codec.NameSerialization, codec.NameMarshalling, "4.7.0", "3.16.6"},
	} {
		t.Run(fmt.Sprintf("%s at %s to %s at %s", way.from, way.offers, way.to, way.take), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
			defer cancel()
			server := servertest.Redis(t)
			options, err := redis.ParseURL(server.URL())
			require.NoError(t, err)
			rdb := redis.NewClient(options)
			t.Cleanup(func() { _ = rdb.Close() })
			var lines strings.Builder
			for _, number := range wholeMessages(seed, way.from) {
				fmt.Fprintf(&lines, "%s\t%d\n", way.from, number)
			}
			offered := byCodec(java.at(t, way.offers).run(t, "corpus.Exchange", strings.NewReader(lines.String()), "offer", server.URL(), fmt.Sprint(seed)))[way.from]
			require.Len(t, offered, exchanged)
			queue := "orders-" + string(way.from)
			to, err := wire.ParseRelease(way.take)
			require.NoError(t, err)
			_, err = migrate.Run(ctx, rdb, queue, migrate.Options{To: to.Layout()})
			require.NoError(t, err)

			names := wire.NamesOf(queue)
			before, err := rdb.LRange(ctx, names.Pending, 0, -1).Result()
			require.NoError(t, err)
			due := scoresOf(ctx, t, rdb, names)
			recoder, err := codec.NewRecoder(way.from, way.to, library.Class, "")
			require.NoError(t, err)
			done, err := migrate.Recode(ctx, rdb, queue, migrate.RecodeOptions{From: string(way.from), To: string(way.to), Recoder: recoder, Partial: true})
			require.NoError(t, err)
			after, err := rdb.LRange(ctx, names.Pending, 0, -1).Result()
			require.NoError(t, err)
			require.Len(t, after, exchanged)

			// What is refused is as it was; nobody can take it now.
			var want []string
			for i, member := range after {
				require.Equal(t, before[i][:8], member[:8], "its id, and its layout")
				if member == before[i] {
					require.NoError(t, rdb.ZRem(ctx, names.TimeoutSet, member).Err())
					require.NoError(t, rdb.LRem(ctx, names.Pending, 1, member).Err())
					continue
				}
				want = append(want, offered[i])
			}
			now := scoresOf(ctx, t, rdb, names)
			for id, score := range now {
				require.Equal(t, due[id], score)
			}
			require.Len(t, now, len(want))
			t.Logf("%d offered, %d rewritten, %d refused", exchanged, len(want), done.After.CountRefused())
			for _, refused := range done.After.Refused[:min(5, len(done.After.Refused))] {
				t.Logf("    %v", refused)
			}
			require.Equal(t, exchanged-len(want), done.After.CountRefused())
			least := exchanged * 7 / 10 // for want of records and of what List.of makes
			if way.to == codec.NameKryo5 {
				least = exchanged * 99 / 100
			}
			require.GreaterOrEqual(t, len(want), least)

			taken := java.at(t, way.take).run(t, "corpus.Exchange", strings.NewReader(fmt.Sprintf("%s\t%s\n", way.to, way.from)), "take", server.URL(), fmt.Sprint(seed))
			require.Equal(t, want, byCodec(taken)[way.to])
		})
	}
}

// scoresOf returns when each member is due, by its id.
func scoresOf(ctx context.Context, t *testing.T, rdb *redis.Client, names wire.Names) map[[8]byte]float64 {
	all, err := rdb.ZRangeWithScores(ctx, names.TimeoutSet, 0, -1).Result()
	require.NoError(t, err)
	scores := map[[8]byte]float64{}
	for _, z := range all {
		m, err := wire.LayoutBc0Lc0.UnpackAny([]byte(z.Member.(string)))
		require.NoError(t, err)
		scores[m.ID] = z.Score
	}
	require.NotEmpty(t, scores)
	return scores
}
