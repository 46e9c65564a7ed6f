package dq_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// The commands that an error names can be pasted into a shell, whatever the queue is called.
func TestCommandsForAnyName(t *testing.T) {
	for name, want := range map[string]string{
		"orders":  "dq-bench inspect orders shows it, and dq-bench migrate orders --to Bc0Lc0 rewrites it",
		"my  q":   "dq-bench inspect 'my  q' shows it, and dq-bench migrate 'my  q' --to Bc0Lc0 rewrites it",
		"a\n\xff": `dq-bench inspect $'a\012\377' shows it, and dq-bench migrate $'a\012\377' --to Bc0Lc0 rewrites it`,
		"-x":      "dq-bench inspect -- -x shows it, and dq-bench migrate --to Bc0Lc0 -- -x rewrites it",
	} {
		err := &dq.ForeignMemberError{Queue: name, Layout: wire.LayoutDLc0, Err: errors.New("failed")}
		require.ErrorContains(t, err, want)
	}
}
