package topology_test

import (
	"context"
	"crypto/tls"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/topology"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func rules(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../dq/README.md")
	require.NoError(t, err)
	rules, err := topology.Rules(string(text))
	require.NoError(t, err)
	return rules
}

func start(t *testing.T, name string) *topology.Topology {
	t.Helper()
	for _, k := range topology.Kinds(rules(t)) {
		if k.Name != name {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := k.Start(ctx, "")
		if err != nil {
			redistest.Missing(t, "redis", err)
		}
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	require.Fail(t, "no such topology", name)
	return nil
}

// One quick case of each section on each topology that starts in an instant; make topologies runs all on all.
func TestCasesPass(t *testing.T) {
	t.Parallel()
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	require.NoError(t, err)
	oracle, err := conformance.LoadOracle(recordings.Redisson(), ".")
	require.NoError(t, err)
	var cases []*conformance.Case
	for _, s := range sections {
		for _, c := range s.Cases {
			if !c.Slow {
				cases = append(cases, c)
				break
			}
		}
	}
	for _, name := range []string{"RESP2", "database 5", "Unix socket", "TLS", "ACL", "replicas", "Sentinel", "Cluster"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := start(t, name).Verify(t.Context(), cases, oracle)
			require.NoError(t, err)
			for _, r := range v.Failed {
				t.Error(r.Text())
			}
			require.GreaterOrEqual(t, v.Passed, 5, "passed")
			t.Logf("%d passed; cannot be carried: %s", v.Passed, v.LeftText())
		})
	}
}

func TestNoMessageIsLostWhileReplicasAreAway(t *testing.T) {
	t.Parallel()
	s := start(t, "replicas")
	o, err := s.Load(t.Context(), s.Faults[0], 300*time.Millisecond)
	require.NoError(t, err)
	require.Empty(t, o.Faults())
	require.Equal(t, o.Offered, o.Acknowledged)
	require.Greater(t, o.Offered, 100)
}

func TestTLSTakesNobodyWithoutACertificate(t *testing.T) {
	t.Parallel()
	s := start(t, "TLS")
	known := s.Dial().(*redis.Client)
	defer known.Close()
	require.NoError(t, known.Ping(t.Context()).Err())
	options := *known.Options()
	options.MaxRetries, options.Dialer = -1, nil
	options.TLSConfig = &tls.Config{RootCAs: options.TLSConfig.RootCAs, MinVersion: tls.VersionTLS12}
	stranger := redis.NewClient(&options)
	defer stranger.Close()
	require.Error(t, stranger.Ping(t.Context()).Err())
}

func TestTheUserOfTheRulesMayDoNothingElse(t *testing.T) {
	t.Parallel()
	s := start(t, "ACL")
	user := s.Dial()
	defer user.Close()
	require.ErrorContains(t, user.Set(t.Context(), topology.Queue, "v", 0).Err(), "NOPERM")
	require.ErrorContains(t, user.LPush(t.Context(), "other", "v").Err(), "NOPERM")
}

func FuzzRules(f *testing.F) {
	f.Add("x\n    ACL SETUSER app on >secret ~orders +blpop\nand\nACL SETUSER app ~dq_*:{orders} +time\n")
	f.Add("ACL SETUSER app \nACL SETUSER app \n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := topology.Rules(text)
		require.Equal(t, err == nil, len(rules) == 2)
	})
}
