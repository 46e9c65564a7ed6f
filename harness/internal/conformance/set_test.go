package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// answering are the answers of a server, by command.
type answering map[string]any

func (a answering) do(_ context.Context, args ...string) (any, error) {
	answer := a[strings.Join(args, " ")]
	if err, ok := answer.(error); ok {
		return nil, err
	}
	return answer, nil
}

// refusalOf is an answer of Redis that is an error.
type refusalOf string

func (r refusalOf) Error() string { return string(r) }
func (refusalOf) RedisError()     {}

func TestAServerWithoutClientInfoIsAskedForAll(t *testing.T) {
	const lines = "id=3 addr=127.0.0.1:5003 cmd=ping\nid=4 addr=127.0.0.1:5004 cmd=client\n"
	old := answering{"client info": refusalOf("ERR Unknown subcommand"), "client list": lines, "client id": int64(4)}
	for name, tc := range map[string]struct {
		client answering
		addr   string
	}{
		"6.0":          {old, "127.0.0.1:5004"},
		"6.2":          {answering{"client info": "id=7 addr=127.0.0.1:5007 cmd=client|info\n"}, "127.0.0.1:5007"},
		"gone":         {answering{"client info": old["client info"], "client list": lines, "client id": int64(5)}, ""},
		"out of reach": {answering{"client info": errors.New("EOF"), "client list": lines, "client id": int64(4)}, ""},
	} {
		got, err := infoOf(t.Context(), tc.client.do)
		require.Equal(t, tc.addr == "", err != nil, name)
		require.Equal(t, tc.addr, got.Addr, name)
	}
}

func TestLinesOfASetAreNoPartOfACase(t *testing.T) {
	const own, sentinel, tested = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"
	line := func(peer string, args ...string) monitor.Line { return monitor.Line{Peer: peer, Args: args} }
	set := surroundings{peers: []string{sentinel}}
	for _, tc := range []struct {
		around surroundings
		line   monitor.Line
		want   bool
	}{
		{set, line(own, "SCAN", "0"), false},
		{set, line(own, "ECHO", "case:x"), true},
		{set, line(sentinel, "INFO"), false},
		{set, line(tested, "WAIT", "9", "1000"), false},
		{surroundings{}, line(tested, "WAIT", "9", "1000"), true},
		{set, line(tested, "LPUSH", "q", "v"), true},
		{set, line(tested, "CLUSTER", "SLOTS"), true},
		{surroundings{cluster: true}, line(tested, "cluster", "slots"), false},
		{surroundings{cluster: true}, line(tested, "cluster", "reset"), true},
	} {
		require.Equal(t, tc.want, tc.around.keep(own)(tc.line), "%v %v", tc.around, tc.line)
	}
}

func TestADatabaseIsShownAsTheOneOfTheRecordings(t *testing.T) {
	s := surroundings{database: 5}
	for was, want := range map[int]int{5: 0, 0: 5, 1: 1} {
		require.Equal(t, want, s.shown(monitor.Line{DB: was}).DB)
	}
	require.Equal(t, 0, surroundings{}.shown(monitor.Line{}).DB)
}

func TestWhatAClusterRefusesIsLeftOut(t *testing.T) {
	section, err := Parse("x.yaml", []byte(`section: x
cases:
  - {id: x/one, requirement: r, source: s, steps: [{call: dq.poll}]}
  - {id: x/two, requirement: r, source: s, steps: [{call: dq.pollLastAndOfferFirstTo, with: {queue: other}}]}
  - {id: x/both, requirement: r, source: s, queue: "{a}x", steps: [{call: dq.pollLastAndOfferFirstTo, with: {queue: "{a}y"}}]}
  - {id: x/brace, requirement: r, source: s, queue: "a{b", steps: [{call: dq.poll}]}
`))
	require.NoError(t, err)
	for i, want := range []string{"", `"other"`, "", `"redisson_delay_queue:a{b"`} {
		why := surroundings{cluster: true}.apart(section.Cases[i])
		require.Equal(t, want == "", why == "", why)
		require.Contains(t, why, want)
		require.Empty(t, surroundings{}.apart(section.Cases[i]))
	}
}
