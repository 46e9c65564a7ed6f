package cli

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/ops"
)

func TestMigrationVerdict(t *testing.T) {
	none, two := &ops.Migration{Name: "a"}, &ops.Migration{Name: "b", Rewritten: map[string]int64{"waiting": 2}}
	refused, left := &ops.Migration{Name: "c", Refusal: "why", Left: 1}, &ops.Migration{Name: "d", Left: 1}
	partial := &ops.Migration{Name: "e", Rewritten: map[string]int64{"ready": 3}, Partial: "interrupted", Left: 1}
	for _, c := range []struct {
		all  []*ops.Migration
		code int
		says string
	}{
		{[]*ops.Migration{none, two}, 0, ""},
		{[]*ops.Migration{none, refused, refused}, 1, `queue "c": nothing was changed: why (and 1 queue more)`},
		{[]*ops.Migration{two, refused}, 99, `queue "c": it is as it was: why`},
		{[]*ops.Migration{partial}, 99, `queue "e": ended after 3 messages were rewritten, which stay so: interrupted; the same command goes on`},
		{[]*ops.Migration{left}, 99, `queue "d": left: 1 message, of these 0 refused values`},
	} {
		err, coded := migrationVerdict(c.all), new(exitError)
		require.Equal(t, c.code == 99, errors.As(err, &coded), c.says)
		require.Equal(t, c.says, fmt.Sprint(cmp.Or(err, errors.New(""))))
	}
}
