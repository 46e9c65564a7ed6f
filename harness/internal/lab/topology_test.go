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

// A short load on each topology that starts in an instant, with what happens there in an instant and costs no message; make
// topologies has the other faults.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]int{
		"RESP2": 0, "database 5": 0, "Unix socket": 0, "TLS": 0, "ACL": 0, "Sentinel": 0, "Cluster": 2, "replicas": 1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, name)
			for _, f := range append(s.Faults[:faults:faults], Fault{do: func(context.Context) error { return nil }}) {
				o, err := s.Load(t.Context(), f, 300*time.Millisecond)
				require.NoError(t, err)
				require.Empty(t, o.Faults(), f.Name)
				require.Equal(t, o.Offered, o.Acknowledged, f.Name)
			}
		})
	}
}

func FuzzRules(f *testing.F) {
	f.Add("x\n    ACL SETUSER app on >secret ~orders +blpop\nand\nACL SETUSER app ~dq_*:{orders} +time\n")
	f.Add("ACL SETUSER app \nACL SETUSER app \n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := Rules(text)
		require.Equal(t, err == nil, len(rules) == 2)
	})
}
