package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
)

func TestVerificationShowsCausesAndEveryCase(t *testing.T) {
	r := conformance.NewReport(driver.Identity{Name: "port", Version: "1.0.0"}, "4.7.0", "redis 7.0.15")
	r.Total = 4
	r.Add(conformance.Result{ID: "DQ.offer/one", Status: conformance.Pass, JudgedBy: "4.7.0"})
	r.Add(conformance.Result{ID: "DQ.offer/two", Status: conformance.Fail, Cause: "an extra TIME", Detail: "<script>alert(1)</script>"})
	r.Add(conformance.Result{
		ID: "DQ.poll/one", Status: conformance.Fail, Cause: "an extra TIME", Command: "dq-bench verify",
		Statements: []spec.Citation{{ID: "W-POLL-1", Text: "Poll MUST take.", Link: "docs/spec/poll.md#w-poll-1"}},
	})

	var out strings.Builder
	require.NoError(t, WriteVerification(&out, r))
	page := out.String()
	for _, text := range []string{
		`<header class="bad">`, "port:1.0.0 is not Redisson 4.7.0 in 2 of 3 cases.", "2 × an extra TIME", "1 by the recordings of 4.7.0",
		"&lt;script&gt;alert(1)", `title="DQ.poll/one: fail"`, "<code>dq-bench verify</code>",
		`<b title="docs/spec/poll.md#w-poll-1">W-POLL-1</b> Poll MUST take.`,
	} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, "<script")
	require.Equal(t, 3, strings.Count(page, "<details>"), "each case once")
}

func TestVerificationThatIsNotWholeIsOpen(t *testing.T) {
	r := conformance.NewReport(driver.Identity{Name: "port"}, "4.7.0", "redis 7.0.15")
	r.Total = 2
	r.Add(conformance.Result{ID: "DQ.offer/one", Status: conformance.Pass})
	var out strings.Builder
	require.NoError(t, WriteVerification(&out, r))
	require.Contains(t, out.String(), `<header class="open">`)
}
