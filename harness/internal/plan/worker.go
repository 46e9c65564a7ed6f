package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxSharedMessages bounds a plan that several workers split, or a part in another
// process: each of the sets of messages that one answers with is then at most 17 MB.
const MaxSharedMessages = 100_000_000

// Worker is one of Count processes or hosts that split a scenario: it runs the
// producers and consumers whose number is Number modulo Count, and with them
// their part of the schedule. The zero value is a worker that does it all.
//
// All offer to the same queues, and each takes what comes, whoever offered it.
// What was lost can be told only by joining their run files.
type Worker struct{ Number, Count int }

// ParseWorker reads i/n. Workers may be counted from 1 or from 0: n and 0 are the
// same share.
func ParseWorker(text string) (Worker, error) {
	number, count, ok := strings.Cut(text, "/")
	i, errI := strconv.Atoi(number)
	n, errN := strconv.Atoi(count)
	if !ok || errI != nil || errN != nil || n < 1 || i < 0 || i > n {
		return Worker{}, fmt.Errorf("worker: expected i/n with i from 1 to n, or from 0 to n-1, such as 2/4; got %q", text)
	}
	return Worker{Number: i, Count: n}, nil
}

// String returns the form that ParseWorker reads.
func (w Worker) String() string { return fmt.Sprintf("%d/%d", w.Number, w.Count) }

// Shared reports whether there are other workers.
func (w Worker) Shared() bool { return w.Count > 1 }

// Owns reports whether the nth producer or consumer is this worker's.
func (w Worker) Owns(n int) bool { return !w.Shared() || n%w.Count == w.Number%w.Count }

// nth numbers those that a worker owns from 0.
func (w Worker) nth(n int) int { return n / max(w.Count, 1) }

// Check refuses a plan that so many workers cannot split. Its error is wrong
// usage.
func (w Worker) Check(p Plan) error {
	switch {
	case !w.Shared():
		return nil
	case min(int64(p.Producers), p.Messages()) < int64(w.Count):
		return fmt.Errorf("worker: %d workers need a producer and a message each, got %d and %d", w.Count, p.Producers, p.Messages())
	case p.Consumers < w.Count:
		return fmt.Errorf("worker: %d workers need a consumer each, got %d", w.Count, p.Consumers)
	case p.Messages() > MaxSharedMessages:
		return fmt.Errorf("worker: expected a scenario of at most %d messages, got %d", MaxSharedMessages, p.Messages())
	}
	return nil
}
