package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/resp"
)

func TestParseSpec(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, kind, arg, url string }{
		{"auto", "auto", "", ""},
		{"embedded", "embedded", "", ""},
		{"container", "container", "", ""},
		{"container:valkey/valkey:8.1", "container", "valkey/valkey:8.1", ""},
		{"process", "process", "", ""},
		{"process:/opt/redis-server", "process", "/opt/redis-server", ""},
		{"redis://h", "external", "", "redis://h:6379/0"},
		{"redis://u:p%40s@h:1/3", "external", "", "redis://u:p%40s@h:1/3"},
		{"redis://:p@h:1", "external", "", "redis://:p@h:1/0"},
		{"rediss://[::1]:6390/1", "external", "", "rediss://[::1]:6390/1"},
		{"redis://[::1]", "external", "", "redis://[::1]:6379/0"},
		{"unix:///run/r.sock", "external", "", "unix:///run/r.sock?db=0"},
		{"unix://u:p%40s@/run/a%20b/r.sock?db=3", "external", "", "unix://u:p%40s@/run/a%20b/r.sock?db=3"},
		{"redis+cluster://:p@a:1,b:2", "external", "", "redis+cluster://:p@a:1,b:2"},
		{"redis+sentinel://a,b:2/main/4", "external", "", "redis+sentinel://a:26379,b:2/main/4"},
		{"rediss+cluster://a:1,b:2", "external", "", "rediss+cluster://a:1,b:2"},
		{"rediss://u:p@h/2?tls_ca=/a%20b.pem&tls_cert=c&tls_key=k", "external", "", "rediss://u:p@h:6379/2?tls_ca=%2Fa+b.pem&tls_cert=c&tls_key=k"},
		{"rediss+sentinel://a/m?tls_ca=f&sentinel_password=%26", "external", "", "rediss+sentinel://a:26379/m/0?sentinel_password=%26&tls_ca=f"},
		{"rediss+sentinel://a/m", "external", "", "rediss+sentinel://a:26379/m/0"},
		{"redis+sentinel://:p@a/m?sentinel_password=q", "external", "", "redis+sentinel://:p@a:26379/m/0?sentinel_password=q"},
	} {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tc.in)
			require.NoError(t, err)
			require.Equal(t, Kind(tc.kind), got.Kind)
			require.Equal(t, tc.arg, got.Arg)
			if got.Kind != External {
				return
			}
			require.Equal(t, tc.url, got.Address.String())
			again, err := ParseAddress(tc.url)
			require.NoError(t, err)
			require.Equal(t, got.Address, again)
		})
	}
}

func TestSpecThatCanNeverBeRight(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "docker", "auto:x", "embedded:", "container:", "process:",
		"http://h", "redis://", "redis://h:x", "redis://h:0", "redis://h:70000", "redis://h:", "redis://h/x", "redis://h/1/2",
		"redis://h/-1", "redis://a,b", "redis://u:%zz@h", "redis://h?x=1", "redis+cluster://a/1", "redis+cluster://a,,b", "redis+sentinel://a",
		"unix://", "unix:///", "unix://r.sock", "unix://h/r.sock", "unix:///r.sock?db=x", "unix:///r.sock?db=-1", "unix:///r.sock?x=1", "unix:///r.sock#1", "unix://:%zz@/r.sock",
		"redis://u:s3cret@h:x", "rediss://:s3cret@h/none", "redis://u:s3cret%zz@h", "redis+sentinel://h?sentinel_password=s3cret",
		"redis://h:p?foo=1&password=s3cret", "redis:/:s3cret@h", ":s3cret@h:p", "redis://:s3cret/x@h", "redis://u:1/s3cret@h", "redis://:a?s3cret@h",
		"unix://u:s3cret@r.sock", "unix://u:s3cret%zz@/r.sock", "unix://u:1/s3cret@/", "unix:///r.sock?password=s3cret",
		"http:s3cret@://h", "redis+sentinel://a/%zz?sentinel_password=s3cret", "redis://:s3cret",
		"unix:///r.sock?tls_ca=f", "unix+cluster:///r.sock", "redis+sentinel://a/m/x", "://h", "redis://h?tls_ca=f", "rediss://h?tls_cert=f", "rediss://h?tls_key=f", "rediss://h?addr=b", "redis+cluster://h?master_name=m",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(in)
			var se *SpecError
			require.True(t, errors.As(err, &se), "%v", err)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestWithPassword(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"unix:///r.sock": "unix://:p%40%2F%20s@/r.sock?db=0", "rediss://u@h:1/3": "rediss://u:p%40%2F%20s@h:1/3", "redis://:s3cret@h": "it has a password already",
		"redis+sentinel://a:1/m?sentinel_password=q": "redis+sentinel://:p%40%2F%20s@a:1/m/0?sentinel_password=q",
	} {
		a, err := ParseAddress(in)
		require.NoError(t, err)
		if a, err = a.WithPassword("p@/ s"); err == nil {
			require.Equal(t, want, a.String())
			continue
		}
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

// Printed commands have no password.
func TestPrinted(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"redis://u:s3cret@h:1/3":                          "--redis-password-file F --redis redis://u@h:1/3 | redis-cli -h h -p 1 -n 3 --user u --askpass",
		"unix://u@/r.sock":                                "--redis 'unix://u@/r.sock?db=0' | redis-cli -s /r.sock --user u --askpass",
		"rediss+cluster://:s3cret@a:1,b:2":                "--redis-password-file F --redis 'rediss+cluster://a:1,b:2' | redis-cli -h a -p 1 -c --tls --askpass",
		"redis+sentinel://a:1/m?sentinel_password=s3cret": "--redis 'redis+sentinel://a:1/m/0?sentinel_password=***' | redis-cli -h a -p 1",
		"rediss://h:1?tls_ca=f&tls_cert=c&tls_key=k":      "--redis 'rediss://h:1/0?tls_ca=f&tls_cert=c&tls_key=k' | redis-cli -h h -p 1 --tls --cacert f --cert c --key k",
	} {
		a, err := ParseAddress(in)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(a.Flags("F"), " ")+" | "+a.CLI())
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none.pem")
	require.NoError(t, os.WriteFile(none, []byte("none"), 0o600))
	huge := filepath.Join(t.TempDir(), "huge.pem")
	require.NoError(t, os.WriteFile(huge, make([]byte, 2<<20), 0o600))
	for in, want := range map[string]string{
		"rediss://:s3cret@h?tls_ca=/nowhere":                       "open /nowhere",
		"rediss://:s3cret@h?tls_ca=" + none:                        "expected PEM with a certificate in " + none,
		"rediss://:s3cret@h?tls_cert=" + none + "&tls_key=" + none: "the certificate " + none,
		"rediss://:s3cret@h?tls_ca=" + huge:                        "expected at most",
	} {
		_, err := Connect(in)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

// FuzzWithPassword has an address, with a password too, read as it was written.
func FuzzWithPassword(f *testing.F) {
	f.Add("redis://u@h:1/2", "p@ss:w/rd%?#,")
	f.Add("redis+cluster://a:1,b:2", "p")
	f.Add("unix://u@/run/r.sock?db=1", "p/?#")
	f.Add("redis+sentinel://a/m/1?sentinel_password=x", "\x00é")
	f.Fuzz(func(t *testing.T, spec, password string) {
		want, err := ParseAddress(spec)
		if err != nil {
			require.ErrorAs(t, err, new(*SpecError))
			return
		}
		plain := want.String()
		again, err := ParseAddress(plain)
		require.NoError(t, err)
		require.Equal(t, want, again)
		if want, err = want.WithPassword(password); err != nil {
			return
		}
		again, err = ParseAddress(want.String())
		require.NoError(t, err)
		require.Equal(t, want, again)
		if len(password) > 8 && !strings.Contains(plain, password) {
			require.NotContains(t, Redact(want.String()), password)
		}
	})
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"redis://h:1/2": "redis://h:1/2", "redis://a:1,b:2": "redis://***", "redis+cluster://a:1,b:2": "redis+cluster://a:1,b:2", "docker": "docker", "container:a@sha256:1": "container:a@sha256:1",
		"unix://u:s3cret@/run/r.sock": "unix://u:***@/run/r.sock", "redis://u:s3cret@h:1": "redis://u:***@h:1", "redis://s3cret@h": "redis://***@h", "redis://:s3cret/x@h": "redis://***",
		"redis:/:s3cret@h": "***", "redis:/:a://s3cret@h": "***", "redis+sentinel://u:p@h/m?sentinel_password=s3c%26ret": "redis+sentinel://u:***@h/m?sentinel_password=***",
	} {
		require.Equal(t, want, Redact(in), in)
	}
	for in, want := range map[string]string{
		"redis://u:s3cret@h:7/2": "h:7", "redis://h": "h:6379", "redis+cluster://:s3cret@a:1,b:2": "a:1", "rediss+sentinel://u:s3cret@s,t/master": "s:26379",
		"container:redis:7.0": "container:redis:7.0", "redis://h:12#s3cret@g": "redis://***",
	} {
		require.Equal(t, want, Place(in), in)
	}
}

// FuzzNoPassword has addresses with a password between a beginning and an end that may be anything. No part of the password is in what is shown.
func FuzzNoPassword(f *testing.F) {
	f.Add("redis://u", "%zz", "@h:1/2")
	f.Add("rediss://", ":et@/x", "@host")
	f.Add("redis:/", "", "@h")
	f.Add("redis+cluster://u", "%zz", "@h,b:x")
	f.Add("redis+sentinel://", "/x", "@h/m?sentinel_password=%zz")
	f.Add("unix://u", "", "@/run/r.sock?db=1")
	f.Add("redis://u", "/1?x=y", "@h/m?tls_ca=a")
	f.Fuzz(func(t *testing.T, begin, middle, end string) {
		const first, last = "S3c", "r3T"
		if strings.Contains(begin+end, first) || strings.Contains(begin+end, last) {
			return
		}
		address := begin + ":" + first + middle + last + "@" + end
		shown := Redact(address)
		if a, err := ParseAddress(address); err != nil {
			shown += err.Error()
		} else {
			shown += Place(address) + Redact(a.String())
		}
		require.NotContains(t, shown, first)
		require.NotContains(t, shown, last)
	})
}

func init() { probeTimeout = time.Second } // a silent server is found out sooner

// Serving has each connection to addr served, and closed after that, until the test ends.
func Serving(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// endless is a server that greets, and then sends what follows again and again.
func endless(t *testing.T, begin, again string) (addr string) {
	t.Helper()
	return Serving(t, func(c net.Conn) {
		in := resp.NewReader(c, 0)
		for command, err := in.ReadCommand(); err == nil; command, err = in.ReadCommand() {
			if !strings.EqualFold(command[0], "get") {
				fmt.Fprint(c, "-ERR unknown command\r\n")
				continue
			}
			fmt.Fprint(c, begin)
			for err == nil && again != "" {
				_, err = io.WriteString(c, again)
			}
		}
	})
}

// A client of a server that sends a reply without end, or that announces one, ends soon and takes little memory.
func TestAReplyWithoutEnd(t *testing.T) {
	for name, sent := range map[string][2]string{
		"a line":           {"+", strings.Repeat("x", 1<<16)},
		"a string":         {"$9000000000\r\n", strings.Repeat("x", 1<<16)},
		"a list":           {"*2000000000\r\n", strings.Repeat(":1\r\n", 1<<14)},
		"a list of lists":  {"", strings.Repeat("*1\r\n", 1<<14)},
		"no reply of RESP": {"*x\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			const most = 4 << 20 // Connect's is larger
			c := On(goredis.NewClient(&goredis.Options{Addr: endless(t, sent[0], sent[1]), MaxRetries: -1, Dialer: func(_ context.Context, _, addr string) (net.Conn, error) {
				conn, err := net.Dial("tcp", addr)
				return newBounded(conn, most), err
			}}))
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.Error(t, c.Do(ctx, "GET", "k").Err())
			require.NoError(t, ctx.Err())
			runtime.ReadMemStats(&after)
			require.Less(t, after.Sys-before.Sys, uint64(8*most))
		})
	}
}

type reading struct {
	net.Conn
	io.Reader
	closed bool
}

func (r *reading) Read(p []byte) (int, error) { return r.Reader.Read(p) }
func (r *reading) Close() error               { r.closed = true; return nil }

func TestRepliesWithinTheBoundPass(t *testing.T) {
	const most = 4000
	small := "+OK\r\n$5\r\nab\r\nc\r\n*3\r\n:1\r\n$-1\r\n*0\r\n%1\r\n+a\r\n*2\r\n#t\r\n_\r\n|1\r\n+k\r\n+v\r\n,1.5\r\n>2\r\n+m\r\n$0\r\n\r\n*-1\r\n"
	text := strings.Repeat(small, 50) // far more than the bound, each reply within
	for name, wrap := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "by bytes": iotest.OneByteReader} {
		got, err := io.ReadAll(newBounded(&reading{Reader: wrap(strings.NewReader(text))}, most))
		require.NoError(t, err, name)
		require.Equal(t, text, string(got))
	}
	for _, large := range []string{
		small + "+" + strings.Repeat("x", most/100) + "\r\n", small + "$4000\r\n", "*190\r\n", "%95\r\n", "*3\r\n" + strings.Repeat("$1400\r\n"+strings.Repeat("x", 1402), 3),
		"*1\r\n*1\r\n*150\r\n", strings.Repeat("*1\r\n", 4), "$x\r\n", "\n",
	} {
		c := &reading{Reader: strings.NewReader(large)}
		_, err := io.ReadAll(newBounded(c, most))
		require.ErrorIs(t, err, errReply, large)
		require.True(t, c.closed)
	}
}

func FuzzBounded(f *testing.F) {
	f.Add("*2\r\n$1\r\na\r\n:1\r\n", uint8(3))
	f.Add("|1\r\n+k\r\n+v\r\n%1\r\n+a\r\n*0\r\n", uint8(1))
	f.Fuzz(func(t *testing.T, text string, at uint8) {
		whole := newBounded(nil, 1000)
		first := whole.pass([]byte(text))
		parts, cut := newBounded(nil, 1000), min(int(at), len(text))
		second := parts.pass([]byte(text[:cut]))
		if second == nil {
			second = parts.pass([]byte(text[cut:]))
		}
		require.Equal(t, first == nil, second == nil, "how bytes come makes no difference")
		if first == nil {
			require.GreaterOrEqual(t, whole.left, int64(0))
		}
	})
}
