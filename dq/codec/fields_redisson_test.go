package codec_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// TestFieldsReadByRedisson has a real Redisson read what is written here.
func TestFieldsReadByRedisson(t *testing.T) {
	redistest.Redisson(t, "3.21.1")
	ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
	defer cancel()
	java := exec.CommandContext(ctx, "testdata/java/generate.sh", "3.21.1", "read")
	java.Stdin = strings.NewReader(codec.FieldLines(t))
	out, err := java.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), " read as meant, 0 not", string(out))
}
