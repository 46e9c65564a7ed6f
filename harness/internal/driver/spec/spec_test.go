package spec

import (
	"fmt"
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
		require.ErrorContains(t, err, fmt.Sprintf("--driver %q: ", spec))
	}
}

func TestParseProgram(t *testing.T) {
	require.Empty(t, Program{}.Notice(), "of a driver that is no program")
	for text, want := range map[string]struct{ release, notice string }{
		"dq":                 {wire.Newest().String(), ""},
		"dq:3.21.0,faithful": {"3.21.0", ""},
		"redisson:2.15.2":    {"2.15.2", ""},
		"redisson:3.99.0":    {"3.99.0", "Redisson 3.99.0 is not in the catalogue: 3.52.0, the nearest that is, stands for it"},
	} {
		p, err := ParseProgram(text)
		require.NoError(t, err, text)
		require.Equal(t, want.release, p.Release.String())
		require.Equal(t, text, p.String())
		require.Equal(t, want.notice, p.Notice())
		require.Equal(t, text != "dq", p.NamesRelease(), text)
	}
	for text, want := range map[string]string{
		"memory": "expected dq", "redisson:3.99": "is not a Redisson release", "dq:3.99.0": "the nearest is", "dq:3.16.6,fast": "expected ,faithful", `exec:a "b`: "expected an end",
	} {
		_, err := ParseProgram(text)
		require.ErrorContains(t, err, want, text)
	}
}
