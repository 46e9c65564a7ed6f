package dq_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/driver/program/redissontest"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// To a real Redisson each partition is an ordinary queue: it offers to one, and takes from another.
func TestPartitionsBesideRealRedissons(t *testing.T) {
	servertest.Redisson(t)
	for _, version := range []string{"3.16.6", "4.7.0"} {
		t.Run(version, func(t *testing.T) {
			c := servertest.Cluster(t, 3, 0)
			client, err := dq.NewClient(clusterClient(t, c), dq.WithRelease(version))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			p := dq.NewPartitioned(dq.Partitions(client, "orders", 3, codec.String{}), dq.PartitionedOptions[string]{Key: customer})
			require.NoError(t, p.Ready(deadline(t)))
			offers := redissontest.Open(t, c.Server, version, p.Partitions()[0].Name(), "string")
			takes := redissontest.Open(t, c.Server, version, p.Partitions()[1].Name(), "string")

			var got arrived
			p.Partitions()[1].Pause() // which Java takes from
			consuming(t, p, got.handle, dq.PartitionedConsumeOptions{})
			var values, theirs, ours []string
			for i := range 60 {
				v := fmt.Sprint(i, " go")
				values = append(values, v)
				if p.PartitionOf(customer(v)) == p.Partitions()[1] {
					theirs = append(theirs, v)
				} else {
					ours = append(ours, v)
				}
			}
			require.NoError(t, p.OfferAll(deadline(t), 0, values...))
			for i := range 20 {
				v := fmt.Sprint(i, " java")
				offers.Call("dq.offer", map[string]any{"value": javaText{"string", v}, "delay": 50})
				ours = append(ours, v)
			}
			var taken []string
			for range theirs {
				var v javaText
				require.NoError(t, json.Unmarshal(takes.Call("q.take", nil), &v))
				taken = append(taken, v.V)
			}
			require.ElementsMatch(t, theirs, taken)
			require.Eventually(t, func() bool { return len(got.all()) == len(ours) }, testDeadline, time.Millisecond)
			require.ElementsMatch(t, ours, got.all())
		})
	}
}

// The guide's Java has the names and the keys where Go has them.
func TestPartitionsInJava(t *testing.T) {
	servertest.Redisson(t)
	servertest.JavaOrSkip(t)
	b := setup(t)
	for _, name := range []string{"orders", "app:Zürich ✓", "a}b", "{orders}"} {
		p := dq.NewPartitioned(dq.Partitions(b.client, name, 24, codec.String{}), dq.PartitionedOptions[string]{})
		require.NoError(t, p.Err())
		keys := append(numbers(0, 100), "", "Zoë", "😀")
		var want []string
		for _, one := range p.Partitions() {
			want = append(want, one.Name())
		}
		for _, key := range keys {
			want = append(want, p.PartitionOf(key).Name())
		}
		ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
		defer cancel()
		java := exec.CommandContext(ctx, "java", append([]string{"-Dfile.encoding=UTF-8", "-Dsun.jnu.encoding=UTF-8", "../docs/guides/Partitions.java", name, "24"}, keys...)...)
		java.Env = append(java.Environ(), "LC_ALL=C.UTF-8")
		output, err := java.Output()
		require.NoError(t, err)
		require.Equal(t, want, strings.Split(strings.TrimSuffix(string(output), "\n"), "\n"))
		require.NoError(t, p.Close())
	}
}
