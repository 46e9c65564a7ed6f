package trace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/resp"
)

func TestParseLine(t *testing.T) {
	tests := []struct {
		name, text string
		want       Line
	}{
		{"client", `1645518017.427970 [0 127.0.0.1:50853] "BLPOP" "zlyx" "0"`,
			Line{Time: 1645518017427970, Peer: "127.0.0.1:50853", Args: []string{"BLPOP", "zlyx", "0"}}},
		{"script", `1645518017.427013 [3 lua] "lrem" "k" "1" "\xe3\x8a\xdd}\x94.\xc1C\x06\x00\x00\x00\"0001\""`,
			Line{Time: 1645518017427013, DB: 3, Peer: "lua",
				Args: []string{"lrem", "k", "1", "\xe3\x8a\xdd}\x94.\xc1C\x06\x00\x00\x00\"0001\""}}},
		{"IPv6", `0.000001 [0 [::1]:6379] "PING"`, Line{Time: 1, Peer: "[::1]:6379", Args: []string{"PING"}}},
		{"unix socket", `1.000000 [0 unix:/run/redis.sock] "get" ""`,
			Line{Time: 1e6, Peer: "unix:/run/redis.sock", Args: []string{"get", ""}}},
		{"bracket in a value", `1.000000 [0 lua] "set" "k" "a] \"b"`,
			Line{Time: 1e6, Peer: "lua", Args: []string{"set", "k", `a] "b`}}},
		{"backslash before x92 is no byte 92", `1.000000 [0 lua] "set" "k" "\\x92\x92\x00"`,
			Line{Time: 1e6, Peer: "lua", Args: []string{"set", "k", "\\x92\x92\x00"}}},
		{"named escapes", `1.000000 [0 lua] "e" "\n\r\t\a\b\\\""`,
			Line{Time: 1e6, Peer: "lua", Args: []string{"e", "\n\r\t\a\b\\\""}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseLine(tt.text)
			require.NoError(t, err)
			require.Equal(t, tt.text, got.Raw)
			require.Equal(t, tt.text, got.String())
			got.Raw = ""
			require.Equal(t, tt.want, got)
		})
	}
}

func TestParseLineRefuses(t *testing.T) {
	tests := []struct{ text, expected string }{
		{``, "a time stamp"},
		{`OK`, "a time stamp"},
		{`1.5 [0 lua] "get"`, "a time stamp such as"},
		{`-1.000000 [0 lua] "get"`, "a time stamp such as"},
		{`1339518083.107412 "keys" "*"`, `"[db peer]"`},
		{`1.000000 [0 lua]`, "and the command"},
		{`1.000000 [x lua] "get"`, "a database number"},
		{`1.000000 [0] "get"`, "a database number"},
		{`1.000000 [0 lua] `, "an argument in double quotes"},
		{`1.000000 [0 lua] get`, "an argument in double quotes"},
		{`1.000000 [0 lua] "get" `, "an argument in double quotes"},
		{`1.000000 [0 lua] "get"  "k"`, "an argument in double quotes"},
		{`1.000000 [0 lua] "get" "k" // why`, "an argument in double quotes"},
		{`1.000000 [0 lua] "get""k"`, "a space or the end"},
		{`1.000000 [0 lua] "get`, "a closing quote"},
		{`1.000000 [0 lua] "get\"`, "a closing quote"},
		{`1.000000 [0 lua] "\q"`, "one of the escapes"},
		{`1.000000 [0 lua] "\x0"`, "one of the escapes"},
	}
	for _, tt := range tests {
		_, err := ParseLine(tt.text)
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax, "%q", tt.text)
		require.Contains(t, err.Error(), tt.expected, "%q", tt.text)
	}
}

func TestQuotedHasEveryByte(t *testing.T) {
	var all strings.Builder
	for c := range 256 {
		all.WriteByte(byte(c))
	}
	quoted := string(resp.AppendQuoted(nil, all.String()))
	require.NotRegexp(t, `\\x[0-9a-f]?[A-F]`, quoted)
	arg, next, err := parseQuoted(quoted, 0)
	require.NoError(t, err)
	require.Equal(t, all.String(), arg)
	require.Equal(t, len(quoted), next)
}

// FuzzLine holds that what is parsed is written back to something that parses
// equal, and that a written line is a fixed point.
func FuzzLine(f *testing.F) {
	f.Add(`1645518017.427970 [0 127.0.0.1:50853] "BLPOP" "zlyx" "0"`)
	f.Add(`1.000000 [0 [::1]:1] "a" "\xE3\x00\\x92] "`)
	f.Fuzz(func(t *testing.T, text string) {
		line, err := ParseLine(text)
		if err != nil {
			return
		}
		again, err := ParseLine(line.String())
		require.NoError(t, err)
		require.Equal(t, line.String(), again.String())
		line.Raw, again.Raw = "", ""
		require.Equal(t, line, again)
	})
}
