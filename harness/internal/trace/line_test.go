package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// serve answers one connection with serverSide and returns its address.
func serve(t *testing.T, serverSide func(net.Conn, *resp.Reader)) string {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		serverSide(conn, resp.NewReader(conn, 0))
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return listener.Addr().String()
}

func TestConnReadsLinesAndSaysWhenItEnds(t *testing.T) {
	long := strings.Repeat(`\x00`, 200_000)
	addr := serve(t, func(conn net.Conn, in *resp.Reader) {
		if got, err := in.ReadCommand(); fmt.Sprint(got) != "[AUTH user secret]" {
			fmt.Fprintf(conn, "-ERR unexpected %s, %v\r\n", got, err)
			return
		}
		fmt.Fprint(conn, "+OK\r\n")
		in.ReadCommand()
		fmt.Fprint(conn, "+OK\r\n"+`+1.000000 [0 127.0.0.1:1] "get" "k"`+"\r\n")
		fmt.Fprintf(conn, `+2.000000 [0 lua] "set" "k" "%s"`+"\r\n", long)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c := must(Dial(ctx, "redis://user:secret@"+addr))
	defer c.Close()
	line := must(c.Read(ctx))
	require.Equal(t, []string{"get", "k"}, line.Args)
	line, err := c.Read(ctx)
	require.NoError(t, err)
	require.Len(t, line.Args[2], 200_000)
	for range 2 {
		_, err = c.Read(ctx)
		require.ErrorIs(t, err, ErrClosed)
	}
}

func TestDialExplains(t *testing.T) {
	refusing := serve(t, func(conn net.Conn, in *resp.Reader) {
		in.ReadCommand()
		fmt.Fprint(conn, "-NOPERM this user has no permissions to run the 'monitor' command\r\n")
	})
	silent := serve(t, func(conn net.Conn, _ *resp.Reader) { io.Copy(io.Discard, conn) })
	for url, want := range map[string]string{
		"redis://" + refusing: "NOPERM", "redis+cluster://127.0.0.1:1": "address of one server",
		"redis://127.0.0.1:1": "expected a Redis at 127.0.0.1:1", "redis://" + silent: "deadline exceeded",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := Dial(ctx, url)
		cancel()
		require.ErrorContains(t, err, want)
	}
}

// A client that comes after the last look, and is gone again, keeps what it wrote.
func TestRemoveLeavesAKeyThatChangesAfterTheLook(t *testing.T) {
	srv := redistest.Start(t, "process", "redis")
	own := must(redis.ConnectMany(srv.URL(), 1))
	defer own.Close()
	looks := 0
	guest := &Guest{Conn: own, Connections: 1, Sync: func(ctx context.Context) error {
		if looks++; looks != 3 { // of Admit, and of Remove before and after it lists the keys
			return nil
		}
		other := must(redis.ConnectMany(srv.URL(), 1))
		defer other.Close()
		return other.Do(ctx, "SET", "orders", "theirs").Err()
	}}
	require.NoError(t, guest.Admit(t.Context()))
	require.NoError(t, own.Do(t.Context(), "SET", "orders", "ours").Err())
	require.ErrorIs(t, guest.Remove(t.Context()), ErrServerInUse)
	require.Equal(t, "theirs", must(own.Do(t.Context(), "GET", "orders").Text()))
}

func TestParseLine(t *testing.T) {
	var all []byte
	for c := range 256 {
		all = append(all, byte(c))
	}
	every := Line{Time: 1, Peer: "lua", Args: []string{string(all)}}
	for text, want := range map[string]Line{
		every.String(): every,
		`1645518017.427970 [0 127.0.0.1:50853] "BLPOP" "zlyx" "0"`: {Time: 1645518017427970, Peer: "127.0.0.1:50853", Args: []string{"BLPOP", "zlyx", "0"}},
		`1645518017.427013 [3 lua] "lrem" "k" "1" "\xe3\x8a\xdd}\x94.\xc1C\x06\x00\x00\x00\"0001\""`: {
			Time: 1645518017427013, DB: 3, Peer: "lua", Args: []string{"lrem", "k", "1", "\xe3\x8a\xdd}\x94.\xc1C\x06\x00\x00\x00\"0001\""},
		},
		`0.000001 [0 [::1]:6379] "PING"`:             {Time: 1, Peer: "[::1]:6379", Args: []string{"PING"}},
		`1.000000 [0 unix:/run/redis.sock] "get" ""`: {Time: 1e6, Peer: "unix:/run/redis.sock", Args: []string{"get", ""}},
		`1.000000 [0 lua] "set" "k" "a] \"b"`:        {Time: 1e6, Peer: "lua", Args: []string{"set", "k", `a] "b`}},
		`1.000000 [0 lua] "set" "k" "\\x92\x92\x00"`: {Time: 1e6, Peer: "lua", Args: []string{"set", "k", "\\x92\x92\x00"}}, // the first is no byte
		`1.000000 [0 lua] "e" "\n\r\t\a\b\\\""`:      {Time: 1e6, Peer: "lua", Args: []string{"e", "\n\r\t\a\b\\\""}},
	} {
		got := must(ParseLine(text))
		require.Equal(t, text, got.String())
		want.Raw, want.command = text, commandOf(want.Args[0])
		require.Equal(t, want, got)
	}
}

func TestParseLineRefuses(t *testing.T) {
	for _, tt := range []struct{ text, expected string }{
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
	} {
		_, err := ParseLine(tt.text)
		require.ErrorAs(t, err, new(*SyntaxError), "%q", tt.text)
		require.ErrorContains(t, err, tt.expected, "%q", tt.text)
	}
}

// FuzzLine holds that what is parsed is written back to something that parses equal, and that a written line is a fixed point.
func FuzzLine(f *testing.F) {
	f.Add(`1645518017.427970 [0 127.0.0.1:50853] "BLPOP" "zlyx" "0"`)
	f.Add(`1.000000 [0 [::1]:1] "a" "\xE3\x00\\x92] "`)
	f.Fuzz(func(t *testing.T, text string) {
		line, err := ParseLine(text)
		if err != nil {
			return
		}
		again := must(ParseLine(line.String()))
		require.Equal(t, line.String(), again.String())
		line.Raw, again.Raw = "", ""
		require.Equal(t, line, again)
	})
}

const sample = "# source: a document\n# a remark without a key\n# version: 3.16.6\n" +
	`1.000000 [0 127.0.0.1:1] "PING"` + "\n" +
	`2.000000 [0 127.0.0.1:1] "ECHO" "case:DQ.offer/first"` + "\n" +
	`3.000000 [0 lua] "rpush" "k" "v"` + "\n"

func TestReadToleratesHowLogsAreSaved(t *testing.T) {
	want := must(Read([]byte(sample), "a.monitor"))
	require.Equal(t, "a document", want.Field("source"))
	require.Equal(t, "3.16.6", want.Field("version"))
	require.Empty(t, want.Field("absent"))
	require.Len(t, want.Lines, 3)
	require.Equal(t, 4, want.Lines[0].Number)
	require.Equal(t, []Case{{"", want.Lines[:1]}, {"DQ.offer/first", want.Lines[2:]}}, want.Cases())

	for name, text := range map[string]string{
		"CR LF":         strings.ReplaceAll(sample, "\n", "\r\n"),
		"no final end":  strings.TrimSuffix(sample, "\n"),
		"blank lines":   strings.ReplaceAll(sample, "\n", "\n\n"),
		"blanks behind": strings.ReplaceAll(sample, "\n", "  \n"),
		"redis-cli":     "OK\n" + sample,
	} {
		t.Run(name, func(t *testing.T) {
			got := must(Read([]byte(text), "a.monitor"))
			require.Equal(t, want.Fields, got.Fields)
			for i := range want.Lines {
				require.Equal(t, want.Lines[i].Raw, got.Lines[i].Raw)
			}
		})
	}
}

func TestReadNamesTheBadLine(t *testing.T) {
	for _, content := range []string{
		"\n" + `1.000000 [0 lua] "get" "k" // a remark`,
		`1.000000 [0 lua] "get" "k"` + "\n# metadata too late",
		`1.000000 [0 lua] "get" "k"` + "\nOK",
		"OK\nOK",
	} {
		_, err := Read([]byte(content), "a.monitor")
		var bad *FileError
		require.ErrorAs(t, err, &bad, "%q", content)
		require.Equal(t, 2, bad.Line)
		require.Contains(t, err.Error(), "a.monitor:2: not a MONITOR line")
	}
}

func TestReadTree(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a"), 0o755))
	for _, name := range []string{"a/x.monitor", "y.monitor", "a/notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(sample), 0o644))
	}
	all := must(ReadTree(t.Context(), dir))
	require.Len(t, all, 2)
	require.Contains(t, all, "a/x.monitor")

	require.Contains(t, must(ReadTree(t.Context(), filepath.Join(dir, "y.monitor"))), ".")

	_, err := ReadTree(t.Context(), t.TempDir())
	require.ErrorContains(t, err, "found no *.monitor file")
	_, err = ReadTree(t.Context(), filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

const scanned = "OK\r\n" + // line 1
	`1.000001 [0 a:1] "PING"` + "\r\n" +
	"\n# a remark\nnothing\n" + // 3 to 5
	`+2.000002 [0 lua] "zadd" "k" "1" "\x00\xffm"` + " \n" +
	`3.000003 [0 a:1] "PI` // 7

func TestScanner(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"at once": strings.NewReader(scanned), "byte by byte": iotest.OneByteReader(strings.NewReader(scanned)),
		"broken": io.MultiReader(strings.NewReader(scanned), iotest.ErrReader(io.ErrClosedPipe)),
	} {
		t.Run(name, func(t *testing.T) {
			s := NewLineScanner(in)
			var got []string
			for s.Scan() {
				l, err := s.Line()
				if err != nil {
					require.ErrorAs(t, err, new(*SyntaxError))
					got = append(got, "bad")
					continue
				}
				require.True(t, strings.HasPrefix(strings.TrimPrefix(scanned[l.Offset:], "+"), l.Raw))
				got = append(got, strings.Join(l.Args, " "))
			}
			if name == "broken" {
				require.ErrorIs(t, s.Err(), io.ErrClosedPipe)
				require.Equal(t, []string{"PING", "bad", "zadd k 1 \x00\xffm"}, got[:3])
				return
			}
			require.NoError(t, s.Err())
			require.Equal(t, []string{"PING", "bad", "zadd k 1 \x00\xffm", "bad"}, got)
		})
	}
}

func TestScannerPassesOverALineThatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", MaxScannedBytes+1)
	s := NewLineScanner(strings.NewReader(long + "\n1.000001 [0 a:1] \"PING\"\n"))
	require.True(t, s.Scan())
	_, err := s.Line()
	require.ErrorIs(t, err, ErrLineTooLong)
	require.True(t, s.Scan())
	l := must(s.Line())
	require.Equal(t, 2, l.Number)
	require.EqualValues(t, len(long)+1, l.Offset)
	require.False(t, s.Scan())
}

// What Read takes a LineScanner takes too, as the same.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(scanned))
	f.Add([]byte("1.000001 [0 a:1] \"PING\"\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		var lines []Line
		bad := false
		s := NewLineScanner(bytes.NewReader(log))
		for s.Scan() {
			l, err := s.Line()
			if bad = bad || err != nil; err == nil {
				l.Args = append([]string(nil), l.Args...)
				lines = append(lines, l)
			}
		}
		require.NoError(t, s.Err())
		if rec, err := Read(log, ""); err == nil {
			require.False(t, bad)
			require.Equal(t, rec.Lines, lines)
		}
	})
}

func TestUnreadable(t *testing.T) {
	for version, want := range map[string]bool{"8.0.1": false, "8.1.0": true, "8.1.1": true, "8.1.2": false, "9.1.2": false} {
		require.Equal(t, want, Unreadable("valkey", version) != "", version)
	}
	require.Empty(t, Unreadable("redis", "8.1.0"))
}

// must is for what fails only in a broken tree or without its server.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
