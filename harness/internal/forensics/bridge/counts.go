package bridge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Schema names the form of the JSON document.
const Schema = "dq-bench/bridge/v1"

// Summary is what a bridge has done so far.
type Summary struct {
	Schema string   `json:"schema"`
	Queues []Counts `json:"queues"` // by name
}

// Counts are those of one queue, or of all.
type Counts struct {
	Queue string `json:"queue"` // any bytes, see MarshalJSON
	// DLc0 and Bc0Lc0 are how many messages were delivered, by the layout of their members.
	DLc0   int64 `json:"delivered_dLc0"`
	Bc0Lc0 int64 `json:"delivered_Bc0Lc0"`
	// Quarantined is how many members were set aside, for nobody can read them.
	Quarantined int64 `json:"quarantined"`
	// Rewritten is how many entries were rewritten ahead.
	Rewritten int64 `json:"rewritten"`
	// Held is how many members are held now.
	Held int64 `json:"held"`
	// Calls is how many scripts were run, and Failures how many of them failed.
	Calls    int64 `json:"calls"`
	Failures int64 `json:"failures"`
	// Failing is why the last call failed; empty where it did not.
	Failing string `json:"failing,omitempty"`
}

// MarshalJSON writes a name that JSON cannot have as text.Valid, and its bytes in base64 beside it, as
// queue_base64.
func (c Counts) MarshalJSON() ([]byte, error) {
	type fields Counts
	valid := fields(c)
	if valid.Queue = text.Valid(c.Queue); valid.Queue == c.Queue {
		return forensics.JSON(valid)
	}
	return forensics.JSON(struct {
		Bytes []byte `json:"queue_base64"`
		fields
	}{[]byte(c.Queue), valid})
}

// Delivered is how many messages were delivered.
func (c Counts) Delivered() int64 { return c.DLc0 + c.Bc0Lc0 }

// Total returns the sum of all queues, without a name.
func (s *Summary) Total() (all Counts) {
	for _, c := range s.Queues {
		all.DLc0 += c.DLc0
		all.Bc0Lc0 += c.Bc0Lc0
		all.Quarantined += c.Quarantined
		all.Rewritten += c.Rewritten
		all.Held += c.Held
		all.Calls += c.Calls
		all.Failures += c.Failures
	}
	return all
}

// Text says it in a line.
func (s *Summary) Text() string {
	noun := "queues"
	if len(s.Queues) == 1 {
		noun = "queue"
	}
	return fmt.Sprintf("%d %s: %s", len(s.Queues), noun, s.Total().text())
}

// Text says it in a line, with the name of the queue.
func (c Counts) Text() string { return fmt.Sprintf("%q: %s", c.Queue, c.text()) }

func (c Counts) text() string {
	said := fmt.Sprintf("%d delivered (%d of dLc0, %d of Bc0Lc0), %d held", c.Delivered(), c.DLc0, c.Bc0Lc0, c.Held)
	if c.Rewritten > 0 {
		said += fmt.Sprintf(", %d rewritten", c.Rewritten)
	}
	if c.Quarantined > 0 {
		said += fmt.Sprintf(", %d set aside", c.Quarantined)
	}
	if c.Failures > 0 {
		said += fmt.Sprintf(", %d of %d calls failed", c.Failures, c.Calls)
	}
	return said
}

// Summary returns what was done so far. It may be called at any time.
func (b *Bridge) Summary() *Summary {
	b.mu.Lock()
	queues := make([]*queue, 0, len(b.queues))
	for _, q := range b.queues {
		queues = append(queues, q)
	}
	b.mu.Unlock()
	s := &Summary{Schema: Schema, Queues: []Counts{}}
	for _, q := range queues {
		s.Queues = append(s.Queues, q.snapshot())
	}
	slices.SortFunc(s.Queues, func(x, y Counts) int { return strings.Compare(x.Queue, y.Queue) })
	return s
}
