package conformance_test

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
	require.NoError(t, r.Page().Write(&out))
	page := out.String()
	for _, text := range []string{
		`<header class="bad">`, "port:1.0.0 is not Redisson 4.7.0 in 2 of 3 cases.", "<td>an extra TIME</td><td>DQ.offer/two, DQ.poll/one</td>", "1 by the recordings of 4.7.0",
		"&lt;script&gt;alert(1)", `title="DQ.poll/one: fail"`, "by itself: dq-bench verify",
		"W-POLL-1: Poll MUST take. (docs/spec/poll.md#w-poll-1)",
	} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, "<script>alert")
	require.Equal(t, 3, strings.Count(page, "<details>"), "each case once")
}

func TestVerificationThatIsNotWholeIsOpen(t *testing.T) {
	r := conformance.NewReport(driver.Identity{Name: "port"}, "4.7.0", "redis 7.0.15")
	r.Total = 2
	r.Add(conformance.Result{ID: "DQ.offer/one", Status: conformance.Pass})
	var out strings.Builder
	require.NoError(t, r.Page().Write(&out))
	require.Contains(t, out.String(), `<header class="open">`)
}
