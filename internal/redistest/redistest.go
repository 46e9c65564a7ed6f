// Package redistest starts a real Redis for a test.
//
// It skips a test whose server or program is missing, with the reason, or fails the test if DQ_REQUIRE lists it.
package redistest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// startTimeout bounds one start; a container on a loaded machine is the slowest.
const startTimeout = time.Minute

// Required reports whether DQ_REQUIRE lists what (comma separated: redis, docker, redisson, chromium, python3, node, postgres).
func Required(what string) bool {
	return slices.Contains(strings.FieldsFunc(os.Getenv("DQ_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }), what)
}

// Thorough reports whether DQ_THOROUGH=1 is set: tests take as long as they need. By default a test that takes minutes runs a sample,
// and says so.
func Thorough() bool { return os.Getenv("DQ_THOROUGH") == "1" }

// pushed are the releases of the real Redisson that run without DQ_THOROUGH: one of each layout.
var pushed = []string{"3.16.6", "4.7.0"}

// Sample returns one of every n elements, and all in a thorough run.
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

// Missing ends the test because something is missing: with a failure if DQ_REQUIRE lists it, else with a skip.
func Missing(t testing.TB, what string, err error) {
	t.Helper()
	if Required(what) {
		t.Fatalf("DQ_REQUIRE lists %s: %v", what, err)
	}
	t.Skipf("no %s here: %v", what, err)
}

// Redisson skips a test that needs a real Redisson unless DQ_REQUIRE lists redisson: Maven and Java take minutes. Releases other than
// 3.16.6 and 4.7.0 need DQ_THOROUGH=1 too.
func Redisson(t testing.TB, releases ...string) {
	t.Helper()
	if !Required("redisson") {
		t.Skip("DQ_REQUIRE does not list redisson, which takes minutes of Maven and Java")
	}
	for _, release := range releases {
		if !Thorough() && !slices.Contains(pushed, release) {
			t.Skipf("only DQ_THOROUGH=1 runs Redisson %s", release)
		}
	}
}

// Redis returns an empty real Redis: a new process (about 20 ms), or the kind that DQ_REDIS names, such as process:/opt/valkey-server,
// or container:redis:8.0 in a package that imports redis/container. It takes auto, embedded and an address for a process: embedded proves nothing about Redis, and a server at
// an address may be in use.
func Redis(t testing.TB) *redis.Server {
	t.Helper()
	spec := os.Getenv("DQ_REDIS")
	if slices.Contains([]string{"", "auto", "embedded"}, spec) || strings.Contains(spec, "://") {
		spec = "process"
	}
	return Start(t, spec, "redis")
}

// Embedded returns an embedded server: for tests that need no Redis, never for a claim about Redis.
func Embedded(t testing.TB) *redis.Server {
	t.Helper()
	return Start(t, "embedded", "embedded")
}

// Start starts the server of a spec until the test ends; DQ_REQUIRE calls the server what.
func Start(t testing.TB, spec, what string) *redis.Server {
	t.Helper()
	return start(t, what, func(ctx context.Context) (*redis.Server, error) { return redis.Start(ctx, spec, nil) })
}

// Process starts an empty server program with arguments, whatever DQ_REDIS says, until the test ends: for tests that kill, pause or
// restart it (Nodes()[0]).
func Process(t testing.TB, args ...string) *redis.Server {
	t.Helper()
	return start(t, "redis", func(ctx context.Context) (*redis.Server, error) { return redis.StartProcess(ctx, "", args...) })
}

// start starts a server or a set until the test ends.
func start[S interface {
	String() string
	Close() error
}](t testing.TB, what string, f func(context.Context) (S, error)) S {
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

// Client returns go-redis's client of a server, a set or a node. The caller closes it.
func Client(of interface{ URL() string }) goredis.UniversalClient {
	client, err := redis.NewClient(of.URL())
	if err != nil {
		panic(err) // the address of our own server can be read
	}
	return client
}
