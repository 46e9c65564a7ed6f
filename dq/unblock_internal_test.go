package dq

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// What a server will always answer so is not asked again.
func TestRefusalsThatLast(t *testing.T) {
	for reply, lasts := range map[resp.Error]bool{
		"NOPERM User worker has no permissions to run the 'client|unblock' command": true,
		"NOAUTH Authentication required.":                                           true,
		"ERR unknown subcommand 'UNBLOCK'. Try CLIENT HELP.":                        true,
		"ERR Unknown subcommand or wrong number of arguments for 'UNBLOCK'":         true,
		"ERR unknown command `CLIENT`, with args beginning with: `UNBLOCK`":         true,
		"NOSCRIPT No matching script. Please use EVAL.":                             false,
		"ERR Protocol error: invalid bulk length":                                   false,
		"LOADING Redis is loading the dataset in memory":                            false,
	} {
		require.Equal(t, lasts, isForbidden(reply), "%s", reply)
	}
}
