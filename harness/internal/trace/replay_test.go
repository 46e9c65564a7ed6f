package trace_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/recordings"
)

func document(t testing.TB, name string) string {
	t.Helper()
	text, err := recordings.Files.ReadFile("documents/" + name)
	require.NoError(t, err)
	return string(text)
}

func parse(t *testing.T, text string) *trace.Recording {
	t.Helper()
	rec, err := trace.Read([]byte(text), "x.monitor")
	require.NoError(t, err)
	return rec
}

func run(t *testing.T, url string, text string) *trace.ReplayResult {
	t.Helper()
	result, err := trace.Replay(t.Context(), url, true, planOf(t, text))
	require.NoError(t, err)
	return result
}

func TestDocumentsReplayIdentically(t *testing.T) {
	url := redistest.Redis(t).URL()
	for name, want := range map[string]struct{ commands, inner, deviations int }{
		"002-zlyx.monitor":        {3, 9, 1},
		"004-dest_queue1.monitor": {7, 37, 1},
	} {
		t.Run(name, func(t *testing.T) {
			result := run(t, url, document(t, name))
			require.True(t, result.Identical, result.Text())
			require.Equal(t, want.commands, result.Commands)
			require.Equal(t, want.inner, result.Inner)
			require.Len(t, result.Deviations, want.deviations)
			require.Empty(t, result.Keys, "every message was taken")
		})
	}
}

func types(r *trace.ReplayResult) map[string]string {
	all := make(map[string]string)
	for _, k := range r.Keys {
		all[k.Name] = k.Type
	}
	return all
}

// Document 001 shows no commands but the state they lead to: the recording of 004 without its consumers, under the queue name of 001,
// leads there too once the first message is due.
func TestDocument001StatesTheKeysOfAnyQueue(t *testing.T) {
	var want struct {
		Keys     map[string]string
		Channels []string
	}
	require.NoError(t, json.Unmarshal([]byte(document(t, "001-delayBlockingQueue.json")), &want))

	text := strings.ReplaceAll(document(t, "004-dest_queue1.monitor"), "dest_queue1", "delayBlockingQueue")
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(l string) bool { return strings.Contains(l, "BLPOP") })
	end := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "1610452459.745813") })
	result := run(t, redistest.Redis(t).URL(), strings.Join(lines[:end], ""))
	require.True(t, result.Identical, result.Text())
	require.Equal(t, want.Keys, types(result))
	require.Equal(t, []trace.ReplayChannel{{Name: want.Channels[0], Subscribers: 1}}, result.Channels)
	lengths := map[string]int{}
	for _, k := range result.Keys {
		lengths[k.Type] += k.Length
	}
	require.Equal(t, map[string]int{"list": 5, "zset": 4}, lengths, "one of five is delivered")
}

func TestOneChangedByteIsNoticed(t *testing.T) {
	url := redistest.Redis(t).URL()
	for _, name := range []string{"002-zlyx.monitor", "004-dest_queue1.monitor"} {
		lines := strings.SplitAfter(document(t, name), "\n")
		for i, line := range lines {
			for _, change := range [][2]string{{`\xc1C`, `\xc1D`}, {`\xe3\x8a`, `\xe3\x8b`}, {"0001", "0002"}, {`\xd4C`, `\xd4B`},
				{"fffffffff4", "ffffefff4"}, {"fffffffff2", "fffffffff6"}, {`\x0e`, `\x0f`}, {`C\r`, `C\x0c`}} {
				at := strings.LastIndex(line, change[0])
				if at < 0 || line[0] == '#' {
					continue
				}
				changed := slices.Clone(lines)
				changed[i] = line[:at] + change[1] + line[at+len(change[0]):]
				result := run(t, url, strings.Join(changed, ""))
				require.False(t, result.Identical, "%s line %d: %v", name, i+1, change)
				require.InDelta(t, i+1, result.Divergence.Line, 20)
				require.NotEmpty(t, result.Divergence.Window)
			}
		}
	}
}

// Whatever a real Redisson did with a queue replays identically; so do the offers and transfers among it without the calls of their
// scripts, as in document 004.
func TestRecordingsOfRedissonReplayIdentically(t *testing.T) {
	url := redistest.Redis(t).URL()
	replayed := map[bool]int{}
	for _, release := range []string{"3.16.6", "4.7.0"} {
		for path, text := range recordings.Redisson(release) {
			if !strings.HasPrefix(path, "DQ.") {
				continue
			}
			for _, c := range parse(t, string(text)).Cases() {
				inner := slices.DeleteFunc(slices.Clone(c.Lines), func(l trace.Line) bool { return !l.Inner() })
				seeded := slices.ContainsFunc(c.Lines, func(l trace.Line) bool { return !l.Inner() && (l.Name() == "zadd" || l.Name() == "rpush") })
				for whole, lines := range map[bool][]trace.Line{true: c.Lines, false: inner} {
					plan, err := trace.NewReplayPlan(&trace.Recording{Path: path, Lines: lines})
					if err != nil || !whole && seeded {
						require.True(t, !whole || strings.Contains(err.Error(), "replay does not send SCRIPT FLUSH"), err)
						continue
					}
					result, err := trace.Replay(t.Context(), url, true, plan)
					require.NoError(t, err, c.ID)
					require.True(t, result.Identical, "%s %s", c.ID, result.Text())
					replayed[whole]++
				}
			}
		}
	}
	require.Greater(t, replayed[true], 200)
	require.Greater(t, replayed[false], 50)
}

func TestBlockingTransactionsAndDatabases(t *testing.T) {
	text := `1.000000 [3 10.0.0.1:1] "BLPOP" "q" "1"
2.000000 [3 10.0.0.1:1] "BLPOP" "q" "1"
3.000000 [3 10.0.0.2:1] "MULTI"
3.000001 [3 10.0.0.2:1] "RPUSH" "q" "a" "b"
3.000002 [3 10.0.0.2:1] "BLPOP" "other" "0"
3.000003 [3 10.0.0.2:1] "exec"
4.000000 [3 10.0.0.1:1] "brpop" "q" "q2" "1"
5.000000 [0 10.0.0.3:1] "SUBSCRIBE" "news" "more"
5.000001 [0 10.0.0.3:1] "UNSUBSCRIBE" "more"
6.000000 [0 10.0.0.2:2] "PUBLISH" "news" "x"
7.000000 [0 10.0.0.2:2] "set" "s" "x"
`
	result := run(t, redistest.Redis(t).URL(), text)
	require.True(t, result.Identical, result.Text())
	require.Equal(t, []trace.ReplayChannel{{Name: "news", Subscribers: 1}}, result.Channels)
	require.Contains(t, strings.Join(result.Deviations, "\n"), `the content of "s" is not compared: what SET does is not modelled`)
	require.Equal(t, map[string]string{"s": "string"}, types(result))
}

func planOf(t *testing.T, text string) *trace.ReplayPlan {
	t.Helper()
	plan, err := trace.NewReplayPlan(parse(t, text))
	require.NoError(t, err)
	return plan
}

// Somebody comes while the replay is under way, and uses one of its keys.
func TestForeignElementsSurviveReplay(t *testing.T) {
	srv := redistest.Redis(t)
	ctx := t.Context()
	lines := strings.Repeat(`1.000000 [2 10.0.0.1:1] "RPUSH" "made" "x"`+"\n", 20_000)
	plan := planOf(t, `1.000000 [2 10.0.0.1:1] "SET" "own" "x"`+"\n"+lines)
	came := make(chan error)
	go func() {
		for keys := ""; ctx.Err() == nil && !strings.Contains(keys, "db2:keys=2"); {
			looks := redistest.Client(srv) // and is gone again, as a health check is
			keys = looks.Info(ctx, "keyspace").Val()
			looks.Close()
		}
		client := goredis.NewClient(&goredis.Options{Addr: srv.Addr, DB: 2})
		defer client.Close()
		came <- client.RPush(ctx, "made", "theirs").Err()
	}()
	_, err := trace.Replay(ctx, srv.URL(), false, plan)
	require.NoError(t, <-came)
	require.ErrorIs(t, err, trace.ErrServerInUse)
	require.ErrorContains(t, err, "RPUSH of 127.0.0.1:")
	client := goredis.NewClient(&goredis.Options{Addr: srv.Addr, DB: 2})
	defer client.Close()
	require.Contains(t, client.LRange(ctx, "made", 0, -1).Val(), "theirs")
	require.Equal(t, "x", client.Get(ctx, "own").Val(), "nothing is deleted")
}

// FuzzRecording holds that no recording breaks what reads one: it is written as it was read, each is the same as itself, and a plan and
// a timeline take it.
func FuzzRecording(f *testing.F) {
	f.Add("OK\r\n# source: a document\n#\n#x\n\n" + `1.000000 [0 1.1.1.1:1] "BLPOP" "q" "0"` + "\n" + `1.000000 [0 1.1.1.1:1] "lrem" "q" "-9" "x"`)
	for _, name := range []string{"002-zlyx.monitor", "004-dest_queue1.monitor"} {
		f.Add(document(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		rec, err := trace.Read([]byte(text), "f")
		if err != nil {
			return
		}
		var out strings.Builder
		require.NoError(t, rec.Write(&out))
		again := parse(t, out.String())
		require.Len(t, again.Lines, len(rec.Lines))
		for i, l := range rec.Lines {
			require.Equal(t, l.Args, again.Lines[i].Args)
		}
		timeline := trace.NewTimeline()
		for _, c := range trace.Group(rec.Lines) {
			timeline.Add(c, true)
		}
		timeline.End()
		outcomes, err := trace.Diff(rec, again, 0)
		for _, o := range outcomes {
			require.True(t, err != nil || o.Finding == nil)
		}
		plan, err := trace.NewReplayPlan(rec)
		require.True(t, err != nil || plan != nil)
	})
}
