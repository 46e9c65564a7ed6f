// Package redistest gives tests a real Redis of their own.
//
// A test that cannot have one is skipped with the reason, unless DQ_REQUIRE lists what is missing: then it fails.
package redistest

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// startTimeout bounds one start; a container on a loaded machine is the slowest.
const startTimeout = time.Minute

// Required reports whether DQ_REQUIRE (comma separated: redis, docker, redisson,
// chromium, python3, node, faketime, postgres) lists what, so that its absence is a failure and not a skip.
func Required(what string) bool {
	for name := range strings.SplitSeq(os.Getenv("DQ_REQUIRE"), ",") {
		if strings.TrimSpace(name) == what {
			return true
		}
	}
	return false
}

// Thorough reports whether DQ_THOROUGH=1 is set, so that tests take as long as they need. Without it a test that takes minutes
// runs a sample, and says so. DQ_REQUIRE has no part in it: a required server only turns a skip into a failure.
func Thorough() bool { return os.Getenv("DQ_THOROUGH") == "1" }

// pushed are the releases of the real Redisson that run without DQ_THOROUGH: one of each layout.
var pushed = []string{"3.16.6", "4.7.0"}

// Sample returns all elements in a thorough run, and else one of every n, of which the test tells.
func Sample[E any](t testing.TB, all []E, n int) []E {
	t.Helper()
	if Thorough() || n <= 1 {
		return all
	}
	var some []E
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	t.Logf("%d of %d; DQ_THOROUGH=1 runs all", len(some), len(all))
	return some
}

// Missing ends the test because what is not here: a failure where DQ_REQUIRE lists it, else a skip.
func Missing(t testing.TB, what string, err error) {
	t.Helper()
	if Required(what) {
		t.Fatalf("DQ_REQUIRE lists %s: %v", what, err)
	}
	t.Skipf("no %s here: %v", what, err)
}

// Redisson ends a test that needs a real Redisson at some releases unless DQ_REQUIRE lists redisson:
// Maven and Java take minutes. A test of other releases than 3.16.6 and 4.7.0 needs DQ_THOROUGH=1 too.
func Redisson(t testing.TB, releases ...string) {
	t.Helper()
	if !Required("redisson") {
		t.Skip("DQ_REQUIRE does not list redisson, which takes minutes of Maven and Java")
	}
	for _, release := range releases {
		if !Thorough() && !slices.Contains(pushed, release) {
			t.Skipf("only DQ_THOROUGH=1 asks Redisson %s", release)
		}
	}
}

// JavaOrSkip skips a test where there is no Java or no Maven.
func JavaOrSkip(t testing.TB) {
	t.Helper()
	for _, name := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s here, so that no real Redisson is asked: %v", name, err)
		}
	}
}

// Redis gives an empty real Redis: a fresh process (about 20 ms), or the kind that DQ_REDIS names, such as
// process:/opt/valkey-server or container:redis:8.0. auto and embedded in DQ_REDIS mean a process too, for embedded is no
// judge, and so does an address: tests never touch a server that somebody may be using. The server stops with the test.
func Redis(t testing.TB) *redis.Server {
	t.Helper()
	spec := os.Getenv("DQ_REDIS")
	if slices.Contains([]string{"", "auto", "embedded"}, spec) || strings.Contains(spec, "://") {
		spec = "process"
	}
	return Start(t, spec, "redis")
}

// Docker gives a Redis in a container of server.DefaultImage.
func Docker(t testing.TB) *redis.Server {
	t.Helper()
	return Start(t, "container", "docker")
}

// Embedded gives an embedded server: for tests that need no Redis, never for a claim about Redis.
func Embedded(t testing.TB) *redis.Server {
	t.Helper()
	return Start(t, "embedded", "embedded")
}

// Start gives the server spec asks for, stopped with the test; what is the name DQ_REQUIRE knows it by.
func Start(t testing.TB, spec, what string) *redis.Server {
	t.Helper()
	return start(t, what, func(ctx context.Context) (*redis.Server, error) {
		return redis.Start(ctx, spec, nil)
	})
}

// Client returns go-redis's client of a server, of a set or of one of its nodes. The caller closes it.
func Client(of interface{ URL() string }) goredis.UniversalClient {
	client, err := redis.NewClient(of.URL())
	if err != nil {
		panic(err) // a server of ours has an address that can be read
	}
	return client
}

// Process gives an empty server program with these arguments, as server.StartProcess takes them, whatever DQ_REDIS says: for
// tests that kill, pause or restart it (Nodes()[0]). It stops with the test.
func Process(t testing.TB, args ...string) *redis.Server {
	t.Helper()
	return start(t, "redis", func(ctx context.Context) (*redis.Server, error) {
		return redis.StartProcess(ctx, "", args...)
	})
}

// closer is common to servers and sets.
type closer interface {
	String() string
	Close() error
}

// start gives what f starts, closed with the test; what is the name DQ_REQUIRE knows it by.
func start[S closer](t testing.TB, what string, f func(context.Context) (S, error)) S {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := f(ctx)
	if err != nil {
		Missing(t, what, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stopping %s: %v", s, err)
		}
	})
	return s
}
