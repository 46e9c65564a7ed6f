package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func rules(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../dq/README.md")
	require.NoError(t, err)
	rules, err := Rules(string(text))
	require.NoError(t, err)
	return rules
}

func start(t *testing.T, name string) *Topology {
	t.Helper()
	for _, k := range Kinds(rules(t)) {
		if k.Name != name {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := k.start(ctx, "")
		if err != nil {
			redistest.Missing(t, "redis", err)
		}
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	require.Fail(t, "no such topology", name)
	return nil
}

// A short load on each topology that starts in an instant; make topologies has the faults.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"RESP2", "database 5", "Unix socket", "TLS", "ACL", "Sentinel", "Cluster"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := start(t, name).Load(t.Context(), Fault{do: func(context.Context) error { return nil }}, 300*time.Millisecond)
			require.NoError(t, err)
			require.Empty(t, o.Faults())
			require.Equal(t, o.Offered, o.Acknowledged)
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

func FuzzRules(f *testing.F) {
	f.Add("x\n    ACL SETUSER app on >secret ~orders +blpop\nand\nACL SETUSER app ~dq_*:{orders} +time\n")
	f.Add("ACL SETUSER app \nACL SETUSER app \n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := Rules(text)
		require.Equal(t, err == nil, len(rules) == 2)
	})
}
