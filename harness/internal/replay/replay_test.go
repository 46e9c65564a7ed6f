package replay_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/dq-bench/dq-bench/harness/internal/replay"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/stretchr/testify/require"
)

func readDocument(name string) (string, error) {
	text, err := recordings.Files.ReadFile("documents/" + name)
	return string(text), err
}

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := readDocument(name)
	require.NoError(t, err)
	return text
}

func parse(t *testing.T, text string) *trace.Recording {
	t.Helper()
	rec, err := trace.Read(strings.NewReader(text), "x.monitor")
	require.NoError(t, err)
	return rec
}

func ownRedis(t *testing.T) replay.Target {
	t.Helper()
	return replay.Target{URL: redistest.Redis(t).URL(), Own: true}
}

func run(t *testing.T, target replay.Target, text string) *replay.Result {
	t.Helper()
	plan, err := replay.NewPlan(parse(t, text))
	require.NoError(t, err)
	result, err := replay.Run(t.Context(), target, plan)
	require.NoError(t, err)
	return result
}

func TestDocumentsReplayIdentically(t *testing.T) {
	target := ownRedis(t)
	for name, want := range map[string]struct{ commands, inner, deviations int }{
		"002-zlyx.monitor":        {3, 9, 1},
		"004-dest_queue1.monitor": {7, 37, 1},
	} {
		t.Run(name, func(t *testing.T) {
			result := run(t, target, document(t, name))
			require.True(t, result.Identical, result.Text())
			require.Equal(t, want.commands, result.Commands)
			require.Equal(t, want.inner, result.Inner)
			require.Len(t, result.Deviations, want.deviations)
			require.Empty(t, result.Keys, "every message was taken")
		})
	}
}

func types(r *replay.Result) map[string]string {
	all := make(map[string]string)
	for _, k := range r.Keys {
		all[k.Name] = k.Type
	}
	return all
}

// Document 001 shows no commands but the state they lead to: the recording of
// 004 without its consumers, under the queue name of 001, leads there too once
// the first message is due.
func TestDocument001StatesTheKeysOfAnyQueue(t *testing.T) {
	var want struct {
		Keys     map[string]string
		Channels []string
	}
	require.NoError(t, json.Unmarshal([]byte(document(t, "001-delayBlockingQueue.json")), &want))

	text := strings.ReplaceAll(document(t, "004-dest_queue1.monitor"), "dest_queue1", "delayBlockingQueue")
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(l string) bool { return strings.Contains(l, "BLPOP") })
	end := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "1610452459.745813") })
	result := run(t, ownRedis(t), strings.Join(lines[:end], ""))
	require.True(t, result.Identical, result.Text())
	require.Equal(t, want.Keys, types(result))
	require.Equal(t, []replay.Channel{{Name: want.Channels[0], Subscribers: 1}}, result.Channels)
	lengths := map[string]int{}
	for _, k := range result.Keys {
		lengths[k.Type] += k.Length
	}
	require.Equal(t, map[string]int{"list": 5, "zset": 4}, lengths, "one of five is delivered")
}

// A changed byte of a member is noticed wherever it is.
func TestOneChangedByteIsNoticed(t *testing.T) {
	target := ownRedis(t)
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
				result := run(t, target, strings.Join(changed, ""))
				require.False(t, result.Identical, "%s line %d: %v", name, i+1, change)
				require.InDelta(t, i+1, result.Divergence.Line, 20)
				require.NotEmpty(t, result.Divergence.Window)
			}
		}
	}
}
