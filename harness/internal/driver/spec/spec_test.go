package spec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
)

func TestParse(t *testing.T) {
	for spec, identity := range map[string]driver.Identity{
		"memory":             {Name: "memory"},
		"redis-list":         {Name: "redis-list"},
		"redis-zset":         {Name: "redis-zset"},
		"dq":                 {Name: "dq", Version: wire.Newest().String()},
		"dq:3.16.6":          {Name: "dq", Version: "3.16.6"},
		"dq:3.16.6,faithful": {Name: "dq", Version: "3.16.6,faithful"},
		"redisson:3.16.6":    {Name: "redisson", Version: "3.16.6"},
		"exec:./port --fast": {Name: "exec:./port --fast"},
	} {
		d, err := Parse(spec)
		require.NoError(t, err, spec)
		require.Equal(t, identity, d.Identity(), spec)
		again, err := Parse(d.Identity().String())
		require.NoError(t, err, "an identity names its driver")
		require.Equal(t, identity, again.Identity())
	}
}

func TestParseRefusesWhatCanNeverBeRight(t *testing.T) {
	for _, spec := range []string{
		"", "kafka", "memory:1", "redis-list:1", "redis-zset:1", "dq:9.9", "dq:3.16.6,fast", "dq,partitions=6", "redisson", "redisson:9.9", "exec:", "exec:'open",
	} {
		_, err := Parse(spec)
		var wrong *driver.SpecError
		require.ErrorAs(t, err, &wrong, spec)
		require.Equal(t, spec, wrong.Spec)
	}
}
