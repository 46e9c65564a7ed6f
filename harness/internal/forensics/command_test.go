package forensics_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
)

func TestCommand(t *testing.T) {
	require.Equal(t, "dq-bench migrate orders --to 4.7.0", forensics.Command("migrate", "orders", "--to", "4.7.0"))
	require.Equal(t, "dq-bench migrate 'my orders' --to 4.7.0", forensics.Command("migrate", "my orders", "--to", "4.7.0"))
	require.Equal(t, "dq-bench migrate --to 4.7.0 -- -x", forensics.Command("migrate", "-x", "--to", "4.7.0"))
}
