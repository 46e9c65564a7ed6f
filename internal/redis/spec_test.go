package redis

import (
	"errors"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redisurl"
)

func TestParseSpec(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, mode, arg, url string }{
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
		{"redis+cluster://:p@a:1,b:2", "external", "", "redis://:p@a:1?addr=b%3A2"},
		{"redis+sentinel://a,b:2/main/4", "external", "", "redis://a:26379/4?addr=b%3A2&master_name=main"},
		{"rediss+cluster://a:1,b:2", "external", "", "rediss://a:1?addr=b%3A2"},
		{"rediss+sentinel://a/m", "external", "", "rediss://a:26379/0?master_name=m"},
		{"redis+sentinel://:p@a/m?sentinel_password=q", "external", "", "redis://:q@a:26379/0?master_name=m&password=p"},
	} {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			got, err := parseSpec(tc.in)
			require.NoError(t, err)
			require.Equal(t, mode(tc.mode), got.mode)
			require.Equal(t, tc.arg, got.arg)
			if tc.url == "" {
				return
			}
			require.Equal(t, tc.url, got.url.url())
			switch got.url.topology {
			case single:
				_, err = goredis.ParseURL(tc.url)
			case cluster:
				_, err = goredis.ParseClusterURL(tc.url)
			case sentinel:
				_, err = goredis.ParseFailoverURL(tc.url)
			}
			require.NoError(t, err)
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
		"unix:///r.sock?tls_ca=f", "unix+cluster:///r.sock", "redis+sentinel://a/m/x", "://h", "redis://h?tls_ca=f", "rediss://h?tls_cert=f", "rediss://h?tls_key=f", "rediss://h?addr=b", "redis+cluster://h?master_name=m",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			err := CheckSpec(in)
			var se *SpecError
			require.True(t, errors.As(err, &se), "%v", err)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestSpecErrorHidesPassword(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"redis://u:s3cret@h:x", "rediss://:s3cret@h/none", "redis://u:s3cret%zz@h", "redis+sentinel://h?sentinel_password=s3cret",
		"redis://h:p?foo=1&password=s3cret", "redis:/:s3cret@h", ":s3cret@h:p", "redis://:s3cret/x@h", "redis://u:1/s3cret@h", "redis://:a?s3cret@h",
		"unix://u:s3cret@r.sock", "unix://u:s3cret%zz@/r.sock", "unix://u:1/s3cret@/", "unix:///r.sock?password=s3cret",
		"http:s3cret@://h", "redis+sentinel://a/%zz?sentinel_password=s3cret", "redis://:s3cret",
	} {
		require.NotContains(t, CheckSpec(in).Error(), "s3cret")
	}
}

func TestWithPassword(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"unix:///r.sock": "unix://:p%40%2F%20s@/r.sock?db=0",
		"redis://h":      "redis://:p%40%2F%20s@h:6379/0", "rediss://u@h:1/3": "rediss://u:p%40%2F%20s@h:1/3",
		"redis+cluster://a:1,b:2": "redis+cluster://:p%40%2F%20s@a:1,b:2", "redis+sentinel://a:1/m?sentinel_password=q": "redis+sentinel://:p%40%2F%20s@a:1/m/0?sentinel_password=q",
	} {
		got, err := WithPassword(in, "p@/ s")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for in, want := range map[string]string{"redis://:s3cret@h": "it has a password already", "auto": "not the address of a server", "redis://": "the host is missing"} {
		_, err := WithPassword(in, "p")
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestWithFiles(t *testing.T) {
	t.Parallel()
	files := redisurl.Files{CA: "/a b.pem", Cert: "c", Key: "k"}
	for in, want := range map[string]string{
		"rediss://u:p@h/2":                              "rediss://u:p@h:6379/2?tls_ca=%2Fa+b.pem&tls_cert=c&tls_key=k",
		"rediss+cluster://a:1,b:2":                      "rediss+cluster://a:1,b:2?tls_ca=%2Fa+b.pem&tls_cert=c&tls_key=k",
		"rediss+sentinel://a:1/m?sentinel_password=%26": "rediss+sentinel://a:1/m/0?sentinel_password=%26&tls_ca=%2Fa+b.pem&tls_cert=c&tls_key=k",
	} {
		got, err := WithFiles(in, files)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.True(t, NamesFiles(got))
		require.False(t, NamesFiles(in))
		_, err = WithFiles(got, files)
		require.ErrorContains(t, err, "it names files for TLS already")
	}
	for in, want := range map[string]string{"redis://:s3cret@h": "need rediss://", "auto": "not the address of a server", "redis://": "the host is missing"} {
		_, err := WithFiles(in, files)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func FuzzWithPassword(f *testing.F) {
	f.Add("redis://u@h:1/2", "p@ss:w/rd%?#,")
	f.Add("redis+cluster://a:1,b:2", "p")
	f.Add("unix://u@/run/r.sock?db=1", "p/?#")
	f.Add("redis+sentinel://a/m/1?sentinel_password=x", "\x00é")
	f.Fuzz(func(t *testing.T, spec, password string) {
		with, err := WithPassword(spec, password)
		if err != nil {
			return
		}
		want, err := parseTarget(spec)
		require.NoError(t, err)
		want.password = password
		got, err := parseTarget(with)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func FuzzSpecErrorHidesPassword(f *testing.F) {
	f.Add("redis+cluster://u", "%zz", "@h,b:x")
	f.Add("redis+sentinel://", "/x", "@h/m?sentinel_password=%zz")
	f.Add("container", "", "@h")
	f.Add("unix://u", "/", "@/r.sock?db=x")
	f.Fuzz(func(t *testing.T, begin, middle, end string) {
		const first, last = "S3c", "r3T"
		if strings.Contains(begin+end, first) || strings.Contains(begin+end, last) {
			return
		}
		address := begin + ":" + first + middle + last + "@" + end
		if err := CheckSpec(address); err != nil {
			require.NotContains(t, err.Error(), first)
			require.NotContains(t, err.Error(), last)
		}
	})
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"auto", "container:x", "redis://u:p@h:1/2", "redis+cluster://a:1,b:2", "redis+sentinel://a/m/1?sentinel_password=x", "redis://[::1]:1", "unix://u:p@/run/r.sock?db=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		sp, err := parseSpec(in)
		if err != nil {
			var se *SpecError
			require.ErrorAs(t, err, &se)
			return
		}
		if sp.mode != modeExternal || strings.ContainsAny(in, "%[") {
			return
		}
		require.NotEmpty(t, sp.url.addrs)
		if sp.url.topology == single {
			opt, err := goredis.ParseURL(sp.url.url())
			require.NoError(t, err)
			require.Equal(t, sp.url.addrs[0], opt.Addr)
			require.Equal(t, sp.url.password, opt.Password)
			require.Equal(t, sp.url.db, opt.DB)
		}
	})
}

// Where a server is can be said without what may be a password, also where the address is one that cannot be meant.
func TestPlaceHasNoPassword(t *testing.T) {
	for spec, want := range map[string]string{
		"redis://u:s3cret@h:7/2":                "h:7",
		"redis://h":                             "h:6379",
		"redis+cluster://:s3cret@a:1,b:2":       "a:1",
		"rediss+sentinel://u:s3cret@s,t/master": "s:26379",
		"container:redis:7.0":                   "container:redis:7.0",
		"redis://h:12#s3cret@g":                 "redis://h:***@g",
		"redis://u:s3cret/@h":                   "redis://u:***@h",
	} {
		require.Equal(t, want, Place(spec))
	}
}
