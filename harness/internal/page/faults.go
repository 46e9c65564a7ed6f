package page

import (
	"fmt"
	"io"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// writeFaults says what broke, and what became of the messages.
func writeFaults(out io.Writer, f *run.Faults) {
	if f == nil {
		return
	}
	for _, e := range f.Events {
		times := ""
		if e.Times > 0 {
			times = fmt.Sprintf(", %d times", e.Times)
		}
		fmt.Fprintf(out, "fault  %s: %.3f s to %.3f s%s; deliveries on time again %s; may lose %s\n", e.Text, e.From, e.To, times, e.ResumedText(), e.MayLose)
	}
	fmt.Fprintf(out, "faults  %d offered, %d acknowledged, %d refused, %d uncertain of which %d came, %d lost, %d duplicate, %d early, %d postponed\n\n",
		f.Offered, f.Acknowledged, f.Refused, f.Uncertain, f.UncertainCame, f.Lost, f.Duplicate, f.Early, f.Postponed)
}
