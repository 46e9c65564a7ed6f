package bridge_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/bridge"
)

// Names of any bytes are told apart in the document.
func TestNamesOfAnyBytes(t *testing.T) {
	for name, want := range map[string]string{
		"orders": `{"queue":"orders",`, "\xff": `{"queue_base64":"/w==","queue":"\\xff",`, `\xff`: `{"queue_base64":"XHhmZg==","queue":"\\x5cxff",`,
	} {
		document, err := json.Marshal(bridge.Counts{Queue: name})
		require.NoError(t, err)
		require.Contains(t, string(document), want)
	}
}
