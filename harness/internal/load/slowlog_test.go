package load

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestSlowlogsSince(t *testing.T) {
	two := int64(2)
	for name, tc := range map[string]struct {
		before, after slowlogs
		want          *int64
	}{
		"two more":                        {slowlogs{"": {next: 7, length: 3}}, slowlogs{"": {next: 9, length: 5}}, &two},
		"two more in a full log":          {slowlogs{"": {next: 500, length: 128}}, slowlogs{"": {next: 502, length: 128}}, &two},
		"the first two":                   {slowlogs{"": {}}, slowlogs{"": {next: 2, length: 2}}, &two},
		"two more after it was emptied":   {slowlogs{"": {}}, slowlogs{"": {next: 90, length: 2}}, &two},
		"one on each of two masters":      {slowlogs{"a": {3, 3}, "b": {5, 5}}, slowlogs{"a": {4, 4}, "b": {6, 6}}, &two},
		"a master that was not there":     {slowlogs{"a": {3, 3}}, slowlogs{"b": {6, 6}}, nil},
		"a server that does not tell":     {nil, nil, nil},
		"a server that told at first":     {slowlogs{"": {}}, nil, nil},
		"a user whose rights came midway": {nil, slowlogs{"": {}}, nil},
	} {
		require.Equal(t, tc.want, tc.after.since(tc.before), name)
	}
}

func TestSlowlogsOfAServer(t *testing.T) {
	client := redistest.Client(redistest.Redis(t))
	defer client.Close()
	r := &Redis{Conn: redis.On(client)}
	ctx := t.Context()
	before := r.slowlogs(ctx)
	require.NotNil(t, before)
	require.NoError(t, client.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err()) // notes itself too
	require.NoError(t, client.Echo(ctx, "slow").Err())
	require.NoError(t, client.ConfigSet(ctx, "slowlog-log-slower-than", "-1").Err())
	added := r.slowlogs(ctx).since(before)
	require.NotNil(t, added)
	require.EqualValues(t, 2, *added)

	// A run goes on without it where the user may not look.
	require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "-slowlog").Err())
	require.Nil(t, r.slowlogs(ctx))
}
