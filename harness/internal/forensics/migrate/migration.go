package migrate

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Schema names the form of the JSON document.
const Schema = "dq-bench/migration/v1"

// Options say what to do.
type Options struct {
	// To is the layout that the members get.
	To wire.Layout
	// Repair removes ghosts, lists orphans and sets unreadable members aside.
	Repair bool
	// DryRun changes nothing.
	DryRun bool
	// Force goes on while somebody subscribes to the queue's channel.
	Force bool
	// Cluster says that keys in different slots cannot be in one script.
	Cluster bool
	// Progress, if not nil, is called after each batch: how many members and entries were
	// looked at in this pass, of how many.
	Progress func(pass, done, total int)
}

// Migration is what was found and done.
type Migration struct {
	Schema      string      `json:"schema"`
	Queue       string      `json:"queue"` // any bytes, see MarshalJSON
	To          string      `json:"to"`
	DryRun      bool        `json:"dry_run"`
	Repair      bool        `json:"repair"`
	Subscribers Subscribers `json:"subscribers"`
	// Refusal is why the same without DryRun would refuse; empty where it would not.
	Refusal string `json:"refusal,omitempty"`
	Held    Held   `json:"held"`
	Before  Survey `json:"before"`
	Done    Done   `json:"done"`
	// After is the queue when all was done; in a dry run nil.
	After *Survey `json:"after,omitempty"`
	// Quarantine and Ghosts are the keys that what --repair removes is kept in.
	Quarantine string `json:"quarantine_key"`
	Ghosts     string `json:"ghosts_key"`
}

// MarshalJSON writes names that JSON cannot have as text.Valid, and the bytes of the queue's in base64
// beside it, as queue_base64.
func (m *Migration) MarshalJSON() ([]byte, error) {
	type fields Migration
	valid := fields(*m)
	for _, name := range []*string{&valid.Queue, &valid.Held.Key, &valid.Quarantine, &valid.Ghosts, &valid.Refusal} {
		*name = text.Valid(*name)
	}
	if valid.Queue == m.Queue {
		return forensics.JSON(valid)
	}
	return forensics.JSON(struct {
		Bytes []byte `json:"queue_base64"`
		fields
	}{[]byte(m.Queue), valid})
}

// Held is what a guard has taken out of the queue. It is delivered by a guard, in whichever
// layout it is, and so left alone.
type Held struct {
	Key   string `json:"key"`
	Count int64  `json:"count"`
	// Unknown says why it could not be counted.
	Unknown string `json:"unknown,omitempty"`
}

// Subscribers are who listens to the queue's channel.
type Subscribers struct {
	Count int `json:"count"`
	// Clients are all with a subscription to any channel.
	Clients []forensics.Client `json:"clients,omitempty"`
	// Unknown says why nobody could be counted.
	Unknown string `json:"unknown,omitempty"`
}

// Done counts what was done.
type Done struct {
	// Rewritten is how many entries of the list, and members that were not listed.
	Rewritten int `json:"rewritten"`
	// Members is how many members of the timeout set, and Entries how many entries of the list:
	// more where a member is listed twice.
	Members int `json:"members_rewritten"`
	Entries int `json:"entries_rewritten"`
	// Relisted is how many orphans were put at the end of the list.
	Relisted int `json:"relisted"`
	// GhostsRemoved is how many entries went to Ghosts.
	GhostsRemoved int `json:"ghosts_removed"`
	// Quarantined is how many members went to Quarantine.
	Quarantined int `json:"quarantined"`
	// Passes is how often all was walked, the last time with nothing found.
	Passes int `json:"passes"`
	// Batches is how many calls changed something.
	Batches int `json:"batches"`
	// LongestMS is the longest of them, with the way there and back.
	LongestMS float64 `json:"longest_ms"`
	TookMS    float64 `json:"took_ms"`
}

// Survey is what a queue holds.
type Survey struct {
	TimeoutSet  int `json:"timeout_set"`
	PendingList int `json:"pending_list"`
	// Layouts counts the members of the timeout set.
	Layouts map[string]int `json:"layouts"`
	// Members and Entries are those of the timeout set and of the list that are not in
	// the layout, and can be.
	Members int `json:"members_to_rewrite"`
	Entries int `json:"entries_to_rewrite"`
	// Unreadable members are of neither layout.
	Unreadable int `json:"unreadable"`
	Ghosts     int `json:"ghosts"`
	Orphans    int `json:"orphans"`
	// Unsure says that the list moved too fast, or is too long, for ghosts and orphans to be counted.
	Unsure bool `json:"unsure"`

	// What --repair treats otherwise: orphans that are unreadable too, and ghosts that are among
	// Entries.
	unreadableOrphans, rewritableGhosts int
}

// Left says what is not as it should be, and is empty if all is.
func (s Survey) Left() string {
	var left []string
	add := func(n int, what string) {
		if n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.Members, "members of the other layout")
	if s.Members == 0 {
		add(s.Entries, "entries of the other layout")
	}
	add(s.Ghosts, "ghosts")
	add(s.Orphans, "orphans")
	add(s.Unreadable, "unreadable members")
	if s.Unsure {
		left = append(left, "ghosts and orphans not counted, for the list moves too fast or is too long")
	}
	return strings.Join(left, ", ")
}

// SubscribedError says that somebody listens to the queue's channel.
type SubscribedError struct {
	Channel string
	Subscribers
}

func (e *SubscribedError) Error() string {
	const how = "a Redisson of the other layout would stand still at the first rewritten member, and which layout a subscriber reads " +
		"cannot be told from outside: stop those of the other side, or --force if there are none"
	return e.tell(how)
}

// tell says who listens, and what to do.
func (e *SubscribedError) tell(how string) string {
	if e.Unknown != "" {
		return fmt.Sprintf("who subscribes to %s cannot be told (%s): %s", text.Line(e.Channel), e.Unknown, how)
	}
	var clients []string
	for _, c := range e.Clients {
		about := c.Address
		if c.Name != "" {
			about += fmt.Sprintf(" %q", c.Name)
		}
		if c.Library != "" {
			about += fmt.Sprintf(" (%s %s)", c.Library, c.Version)
		}
		clients = append(clients, about)
	}
	return fmt.Sprintf("subscribers of %[2]s: %[1]d; clients with a subscription of any kind: %[3]s; %[4]s",
		e.Count, text.Line(e.Channel), strings.Join(clients, ", "), how)
}
