package adopt

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

const head = "object,method,variant,first_3x,last_3x,first_2x,last_2x,sha1,bytes,keys,args,file,recorded_from,reply,cost\n"

// A row says in its range which releases send its text, so far as one range can.
func TestRangesOfARow(t *testing.T) {
	known := []wire.Release{{Major: 2, Minor: 15}, {Major: 3, Minor: 2}, {Major: 3, Minor: 10}, {Major: 4}}
	for name, test := range map[string]struct {
		row     string // first_3x to last_2x
		release wire.Release
		sent    bool
		want    string
		left    string
	}{
		"newer, sent":           {"3.2.0,4.0.0,,", wire.Release{Major: 4, Minor: 1}, true, "3.2.0,4.1.0,,", ""},
		"newer, no longer":      {"3.2.0,4.0.0,,", wire.Release{Major: 4, Minor: 1}, false, "3.2.0,4.0.0,,", ""},
		"newer, sent again":     {"3.2.0,3.10.0,,", wire.Release{Major: 4, Minor: 1}, true, "3.2.0,3.10.0,,", "one range cannot say both"},
		"older, sent":           {"3.2.0,4.0.0,,", wire.Release{Major: 3, Minor: 1}, true, "3.1.0,4.0.0,,", ""},
		"between, in the range": {"3.2.0,4.0.0,,", wire.Release{Major: 3, Minor: 5}, true, "3.2.0,4.0.0,,", ""},
		"between, not sent":     {"3.2.0,4.0.0,,", wire.Release{Major: 3, Minor: 5}, false, "3.2.0,4.0.0,,", "which was not seen to send it"},
		"between, as before":    {"3.2.0,3.2.0,,", wire.Release{Major: 3, Minor: 5}, true, "3.2.0,3.5.0,,", ""},
		"between, as after":     {"3.10.0,4.0.0,,", wire.Release{Major: 3, Minor: 5}, true, "3.5.0,4.0.0,,", ""},
		"the other line":        {"3.2.0,4.0.0,,", wire.Release{Major: 2, Minor: 16}, true, "3.2.0,4.0.0,2.16.0,2.16.0", ""},
		"of 2.x":                {"3.2.0,4.0.0,2.15.0,2.15.0", wire.Release{Major: 2, Minor: 16}, true, "3.2.0,4.0.0,2.15.0,2.16.0", ""},
		"not of this line":      {",,2.15.0,2.15.0", wire.Release{Major: 4, Minor: 1}, false, ",,2.15.0,2.15.0", ""},
	} {
		r, err := parseRows([]byte(head + "RDelayedQueue,peek,peek-v1," + test.row + ",abc,1,,,peek-v1.lua,3.2.0,,\n"))
		require.NoError(t, err)
		left := r.adopt(test.release, known, []Script{{SHA1: "abc", Here: test.sent}})
		text, err := r.text()
		require.NoError(t, err)
		require.Contains(t, text, "peek-v1,"+test.want+",abc", name)
		require.Equal(t, test.left == "", len(left) == 0, "%s: %v", name, left)
		require.Contains(t, strings.Join(left, "\n"), test.left, name)
	}
}

func TestStatementsAreTheText(t *testing.T) {
	for _, s := range wire.Scripts() {
		require.Equal(t, s.Body, strings.Join(statements(s.Body), ""), s.Variant)
		require.InDelta(t, 1, likeness(statements(s.Body), statements(s.Body)), 0, s.Variant)
	}
	require.Equal(t, []string{"if a then ", "b; ", "end"}, statements("if a then b; end"))
	require.Equal(t, " a;\n-b;\n+c;\n", unified([]string{"a; ", "b;"}, []string{"a; ", "c;"}))
	require.Zero(t, likeness(nil, nil))
}

func TestANewTextWithoutALikeness(t *testing.T) {
	n := newScript(&use{}, "return 1", nil, wire.Newest(), nil)
	require.Nil(t, n.Near)
	require.Equal(t, "unknown-v1", n.Variant)
	require.Equal(t, "--- /dev/null\n+++ unknown-v1\n+return 1\n", n.Diff())
	r, err := parseRows([]byte(head))
	require.NoError(t, err)
	require.Empty(t, r.adopt(wire.Release{Major: 4, Minor: 8}, wire.Releases(), []Script{{SHA1: "abc", Here: true, New: n}}))
	text, err := r.text()
	require.NoError(t, err)
	require.Equal(t, head+"RDelayedQueue,,unknown-v1,4.8.0,4.8.0,,,abc,8,,,unknown-v1.lua,4.8.0,,\n", text)
}

func FuzzParseRows(f *testing.F) {
	f.Add([]byte(head + "RDelayedQueue,peek,peek-v1,3.2.0,4.0.0,,,abc,1,,,peek-v1.lua,3.2.0,,\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRows(text)
		if err != nil {
			return
		}
		_ = r.adopt(wire.Release{Major: 4, Minor: 8}, wire.Releases(), []Script{{SHA1: "abc", Here: true}})
		again, err := r.text()
		require.NoError(t, err)
		_, err = parseRows([]byte(again))
		require.NoError(t, err)
	})
}

func FuzzParseReleases(f *testing.F) {
	f.Add("3.2.0\n4.7.0\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseReleases(text)
		if err != nil {
			return
		}
		again, err := parseReleases(addRelease(list, wire.Release{Major: 4, Minor: 8}))
		require.NoError(t, err)
		require.Contains(t, again, wire.Release{Major: 4, Minor: 8})
	})
}
