package redisurl_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redisurl"
)

func TestParseIsThatOfGoRedisWithoutFiles(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"redis://u:p%40@h:1/2", "rediss://h", "redis://h:1?dial_timeout=3s", "unix://u:p%40@/run/r.sock?db=2"} {
		want, err := redis.ParseURL(in)
		require.NoError(t, err)
		got, err := redisurl.Parse(in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestParseSaysWhatWasExpected(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none.pem")
	require.NoError(t, os.WriteFile(none, []byte("none"), 0o600))
	huge := filepath.Join(t.TempDir(), "huge.pem")
	require.NoError(t, os.WriteFile(huge, make([]byte, 2<<20), 0o600))
	for in, want := range map[string]string{
		"redis://:s3cret@h?tls_ca=f":                               "need rediss://",
		"rediss://:s3cret@h?tls_cert=f":                            "belong together",
		"rediss://:s3cret@h?tls_ca=/nowhere":                       "open /nowhere",
		"rediss://:s3cret@h?tls_ca=" + none:                        "expected PEM with a certificate in " + none,
		"rediss://:s3cret@h?tls_cert=" + none + "&tls_key=" + none: "the client's certificate " + none,
		"rediss://:s3cret@h?tls_ca=" + huge:                        "expected at most",
		"redis://:s3cret@h:x":                                      "no URL",
		"redis://:s3cret%zz@h":                                     "a % in a user and a password is %25",
		"redis://u:1/s3cret@h":                                     "an @ stands behind a /",
		"redis:/:s3cret@h":                                         "an @ stands behind a /",
		"redis://:s3cret@h?master_name=m":                          "unexpected option: master_name",
	} {
		_, err := redisurl.Parse(in)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"redis://h:1/2": "redis://h:1/2", "redis://[::1]:1": "redis://[::1]:1", "redis://[::1]": "redis://[::1]", "redis://a:1,b:2/m": "redis://a:1,b:2/m",
		"unix:///run/r.sock": "unix:///run/r.sock", "unix://u:s3cret@/run/r.sock": "unix://u:***@/run/r.sock", "unix://:s3c/ret@/r.sock?db=1": "unix://:***@/r.sock?db=***",
		"redis://u:s3cret@h:1": "redis://u:***@h:1", "redis://:s3cret@h": "redis://:***@h", "redis://s3cret@h": "redis://***@h",
		"rediss://:s3c:ret@/x@h": "rediss://:***@h", "redis:/:s3cret@h": "redis:***@h", ":s3cret@h:p": ":***@h:***", "redis:/:a://s3cret@h": "redis:***@h",
		"redis://:s3cret": "redis://:***", "redis://h:s3cret/1": "redis://h:***/1",
		"redis://h:p?foo=1&password=s3cret": "redis://h:***?foo=***", "redis://h?s3cret": "redis://h?***",
		"rediss://h/m?tls_ca=f&sentinel_password=s3c&ret=1": "rediss://h/m?tls_ca=f&sentinel_password=***",
	} {
		require.Equal(t, want, redisurl.Redact(in), in)
	}
}

// FuzzNoPassword has addresses with a password between a beginning and an end that may be anything. No part of
// it is in what is shown.
func FuzzNoPassword(f *testing.F) {
	f.Add("redis://u", "%zz", "@h:1/2")
	f.Add("rediss://", ":et@/x", "@host")
	f.Add("redis:/", "", "@h")
	f.Add("", "", "@h:p")
	f.Add("unix://u", "", "@/run/r.sock?db=1")
	f.Add("unix://", "/x", "@/run/r.sock")
	f.Add("redis://u", "/1?x=y", "@h/m?tls_ca=a")
	f.Fuzz(func(t *testing.T, begin, middle, end string) {
		const first, last = "S3c", "r3T"
		if strings.Contains(begin+end, first) || strings.Contains(begin+end, last) || strings.Contains(begin+end, "/dev") {
			return
		}
		address := begin + ":" + first + middle + last + "@" + end
		shown := redisurl.Redact(address)
		if _, err := redisurl.Parse(address); err != nil {
			shown += err.Error()
		}
		require.NotContains(t, shown, first)
		require.NotContains(t, shown, last)
	})
}

func FuzzParse(f *testing.F) {
	f.Add("rediss://u:s3cret@h:1/2?tls_ca=a&tls_cert=b&tls_key=c")
	f.Add("redis://:s3cret@h:x")
	f.Add("unix://u:s3cret-s3cret@/run/r.sock?db=1")
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Contains(in, "/dev") {
			return // where reading may wait
		}
		options, err := redisurl.Parse(in)
		u, broken := url.Parse(in)
		switch {
		case err == nil:
			require.NotEmpty(t, options.Addr)
			require.NoError(t, broken)
		case broken == nil && u.User != nil:
			if password, _ := u.User.Password(); len(password) > 8 {
				require.NotContains(t, err.Error(), password)
			}
		}
	})
}
