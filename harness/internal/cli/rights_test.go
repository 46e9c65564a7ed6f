package cli

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Who has the rights that an error asks for may do all that the command does; who has none is told
// them, and that nothing was changed.
func TestRightsThatErrorsAskFor(t *testing.T) {
	t.Setenv("DQ_JAVA", "dq-fake-java")
	srv := redistest.Redis(t)
	ctx := t.Context()
	client := redistest.Client(srv)
	defer client.Close()
	for command, rights := range map[string]string{
		"doctor orders": doctorRights, "doctor": doctorRights, "queue list orders": doctorRights,
		"migrate orders --to 4.7.0 --yes": changeRights, "migrate orders --codec string:json --classpath app.jar --yes": changeRights,
		"queue repair orders --yes --out " + t.TempDir(): changeRights, "queue reschedule orders --all --to 2h --yes --out " + t.TempDir(): changeRights,
		"guard orders --for 200ms": guardRights, "guard --all --for 200ms": guardRights,
	} {
		require.NoError(t, client.FlushAll(ctx).Err())
		names := wire.NamesOf("orders")
		require.NoError(t, offered(ctx, client, "orders", wire.LayoutDLc0, "x", time.Now().Add(time.Hour)))
		require.NoError(t, client.RPush(ctx, names.Pending, "ghost").Err())
		due := float64(time.Now().Add(time.Hour).UnixMilli())
		require.NoError(t, client.ZAdd(ctx, names.TimeoutSet, redis.Z{Score: due, Member: "unreadable"},
			redis.Z{Score: due, Member: wire.LayoutDLc0.Pack([8]byte{1}, []byte("orphan"))}).Err())
		run := func(rights string) error {
			user := []any{"ACL", "SETUSER", "examiner", "reset", "on", ">secret"}
			for word := range strings.FieldsSeq(strings.ReplaceAll(rights, "QUEUE", "orders")) {
				user = append(user, word)
			}
			require.NoError(t, client.Do(ctx, user...).Err())
			address, err := url.Parse(srv.URL())
			require.NoError(t, err)
			address.User = url.UserPassword("examiner", "secret")
			cmd := newRootCmd()
			cmd.SetArgs(append(strings.Fields(command), "--redis", address.String()))
			var out strings.Builder
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			return cmd.ExecuteContext(ctx)
		}
		err := run(connectRights)
		require.ErrorContains(t, err, "NOPERM", command)
		require.ErrorContains(t, err, "grant the user "+rights, command)
		if strings.HasPrefix(command, "migrate") {
			err := run(strings.ReplaceAll(rights, "+lset", "-lset"))
			require.ErrorContains(t, err, "nothing was changed", command)
			require.ErrorContains(t, err, "grant the user "+rights, command)
		}
		if err := run(rights); err != nil {
			require.NotContains(t, err.Error(), "grant", command)
			require.Regexp(t, "red findings|left: ", err.Error(), command)
		}
	}
}
