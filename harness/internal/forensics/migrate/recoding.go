package migrate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/values"
	"github.com/dq-bench/dq-bench/internal/text"
)

// RecodingSchema names the form of the JSON document of a Recoding.
const RecodingSchema = "dq-bench/recoding/v1"

// Outcome is a value in the other codec, or why it is refused.
type Outcome struct {
	Value  []byte
	Reason string
	// Example is the result for a refused value.
	Example string
}

// RecodeOptions say what to do.
type RecodeOptions struct {
	// From and To are the names of the codecs.
	From, To string
	// Recode writes values of the one codec as the other does. It fails where no value can be judged.
	Recode func(ctx context.Context, values [][]byte) ([]Outcome, error)
	// DryRun, Force and Cluster are as in Options.
	DryRun, Force, Cluster bool
	// Progress is as in Options.
	Progress func(pass, done, total int)
}

// Recoding is what was found and done.
type Recoding struct {
	Schema      string      `json:"schema"`
	Queue       string      `json:"queue"` // any bytes, see MarshalJSON
	From        string      `json:"from"`
	To          string      `json:"to"`
	DryRun      bool        `json:"dry_run"`
	Subscribers Subscribers `json:"subscribers"`
	// Refusal is why the same without DryRun would refuse; empty where it would not.
	Refusal string `json:"refusal,omitempty"`
	Held    Held   `json:"held"`
	// Reserved and Dead are the values that a dq.Worker holds, and its dead letters: they are left
	// alone.
	Reserved int64 `json:"reserved"`
	Dead     int64 `json:"dead"`
	// ReliableUnknown says why they could not be counted.
	ReliableUnknown string  `json:"reliable_unknown,omitempty"`
	Before          Values  `json:"before"`
	Done            Recoded `json:"done"`
	// After is the queue when all was done; in a dry run nil.
	After *Values `json:"after,omitempty"`
	// Journal is the key that keeps which values are done where their bytes do not tell.
	Journal string `json:"journal_key"`
}

// MarshalJSON is as that of a Migration.
func (r *Recoding) MarshalJSON() ([]byte, error) {
	type fields Recoding
	valid := fields(*r)
	for _, name := range []*string{&valid.Queue, &valid.Held.Key, &valid.Journal, &valid.Refusal} {
		*name = text.Valid(*name)
	}
	if valid.Queue == r.Queue {
		return forensics.JSON(valid)
	}
	return forensics.JSON(struct {
		Bytes []byte `json:"queue_base64"`
		fields
	}{[]byte(r.Queue), valid})
}

// Recoded counts what was done.
type Recoded struct {
	// Members is how many members of the timeout set were rewritten, Entries how many of the pending
	// list, and Waiting how many values of the destination queue.
	Members int `json:"members_rewritten"`
	Entries int `json:"entries_rewritten"`
	Waiting int `json:"waiting_rewritten"`
	// Passes, Batches, LongestMS and TookMS are as in Done.
	Passes    int     `json:"passes"`
	Batches   int     `json:"batches"`
	LongestMS float64 `json:"longest_ms"`
	TookMS    float64 `json:"took_ms"`
}

// Values is what a queue holds.
type Values struct {
	TimeoutSet  int `json:"timeout_set"`
	PendingList int `json:"pending_list"`
	// Waiting is how many values were delivered and not taken.
	Waiting int `json:"waiting"`
	// Members, Entries and WaitingOld are those of the timeout set, of the pending list and of the
	// destination queue that are to be rewritten.
	Members    int `json:"members_to_rewrite"`
	Entries    int `json:"entries_to_rewrite"`
	WaitingOld int `json:"waiting_to_rewrite"`
	// Refused are the values that are not rewritten, by the reason; an entry of the pending list counts
	// only where it is no member of the timeout set.
	Refused []Refused `json:"refused,omitempty"`
	// Unreadable members are of neither layout.
	Unreadable int `json:"unreadable"`
	// Example is a value that is to be rewritten, and what it becomes: as text, or in hexadecimal.
	Example [2]string `json:"example,omitzero"`
	// Unsure says that the list moved too fast, or is too long, for members that are not listed to be known.
	Unsure bool `json:"unsure"`
}

// Refused are values that are not rewritten for one reason.
type Refused struct {
	// Class is the class of the first of them; empty where the bytes do not tell.
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason"`
	// Example is the result for the first of them.
	Example string `json:"example,omitempty"`
	Count   int    `json:"count"`
	// First is the due time of the first of them, in Unix ms; 0 for one that was delivered.
	First int64 `json:"first_due_ms,omitempty"`
}

// CountRefused is how many values are refused.
func (v Values) CountRefused() int {
	n := 0
	for _, r := range v.Refused {
		n += r.Count
	}
	return n
}

// maxReasons bounds how many reasons are told apart; what is behind counts as one.
const maxReasons = 20

// refuse takes note of a value that is not rewritten.
func (v *Values) refuse(l list, entry string, why Outcome, due int64) {
	value, _ := l.open(entry)
	one := Refused{Class: values.Detect(value).Class, Reason: why.Reason, Example: why.Example, First: due}
	same := func(r Refused) bool { return r.Class == one.Class && r.Reason == one.Reason }
	i := slices.IndexFunc(v.Refused, same)
	if i < 0 && len(v.Refused) >= maxReasons {
		one = Refused{Reason: "other reasons", First: due}
		i = slices.IndexFunc(v.Refused, same)
	}
	if i < 0 {
		i = len(v.Refused)
		v.Refused = append(v.Refused, one)
	}
	v.Refused[i].Count++
}

// sort has the most frequent reasons first.
func (v *Values) sort() {
	slices.SortStableFunc(v.Refused, func(a, b Refused) int { return cmp.Compare(b.Count, a.Count) })
}

// String says it in a line.
func (r Refused) String() string {
	at := r.Class
	if at != "" {
		at += ": "
	}
	line := fmt.Sprintf("%d of %s%s", r.Count, text.Line(at), text.Line(r.Reason))
	if r.Example != "" {
		line += ": " + text.Line(r.Example)
	}
	if r.First != 0 {
		line += fmt.Sprintf("; the first is due at %s", time.UnixMilli(r.First).UTC().Format(time.RFC3339))
	}
	return line
}

// Left says what is not as it should be, and is empty if all is.
func (r *Recoding) Left() string {
	if r.After == nil {
		return ""
	}
	var left []string
	add := func(n int, what string) {
		if n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, what))
		}
	}
	v := r.After
	add(v.Members, "members of "+r.From)
	if v.Members == 0 {
		add(v.Entries, "entries of "+r.From)
	}
	add(v.WaitingOld, "delivered values of "+r.From)
	add(v.CountRefused(), "refused values, which stay of "+r.From)
	add(v.Unreadable, "unreadable members")
	add(int(r.Held.Count), "values that a guard holds, of "+r.From)
	add(int(r.Reserved), "values that a dq.Worker holds")
	add(int(r.Dead), "dead letters of a dq.Worker")
	if v.Unsure {
		left = append(left, "members that are not listed were not looked for, for the list moves too fast or is too long")
	}
	return strings.Join(left, ", ")
}

// CodecSubscribedError says that somebody listens to the queue's channel.
type CodecSubscribedError struct {
	SubscribedError
	From, To string
}

func (e *CodecSubscribedError) Error() string {
	how := fmt.Sprintf("whoever takes a rewritten value with %s loses it, and so with %s one that is not; which codec a service has "+
		"cannot be told from outside: stop all that offer or take here, or --force if all of them have %s", e.From, e.To, e.To)
	return e.tell(how)
}
