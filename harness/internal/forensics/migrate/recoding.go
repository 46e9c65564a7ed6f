package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/text"
)

// RecodingSchema names the form of the JSON document of a Recoding.
const RecodingSchema = "dq-bench/recoding/v1"

// Recoder writes values of one codec as another does, as codec.Recoder does.
type Recoder interface {
	Looks(value []byte) codec.Looks
	// Recode fails with a *codec.RecodeError for a value that it refuses.
	Recode(value []byte) ([]byte, error)
}

// RecodeOptions say what to do.
type RecodeOptions struct {
	// From and To are the names of the codecs.
	From, To string
	Recoder  Recoder
	// Partial goes on where values are refused, and leaves them as they are.
	Partial bool
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
	Partial     bool        `json:"partial"`
	Subscribers Subscribers `json:"subscribers"`
	// Refusal is why the same without DryRun would refuse; empty where it would not.
	Refusal string `json:"refusal,omitempty"`
	Held    Held   `json:"held"`
	// Reserved and Dead are the values that a dq.ReliableQueue holds, and its dead letters: they are left
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
	// Class and Path say where in the values it is: "acme.Order.items[3].state". Empty where the bytes
	// do not tell.
	Class  string `json:"class,omitempty"`
	Path   string `json:"path,omitempty"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
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
func (v *Values) refuse(why *codec.RecodeError, due int64) {
	one := Refused{Class: why.Class, Path: why.Path, Reason: why.Reason, Count: 1, First: due}
	i := slices.IndexFunc(v.Refused, func(r Refused) bool { return r.Class == one.Class && r.Path == one.Path && r.Reason == one.Reason })
	if i < 0 && len(v.Refused) == maxReasons {
		one = Refused{Reason: "other reasons", Count: 1, First: due}
		i = slices.IndexFunc(v.Refused, func(r Refused) bool { return r.Reason == one.Reason })
	}
	if i < 0 {
		v.Refused = append(v.Refused, one)
		return
	}
	v.Refused[i].Count++
}

// sort has the most frequent reasons first.
func (v *Values) sort() {
	slices.SortStableFunc(v.Refused, func(a, b Refused) int { return cmp.Compare(b.Count, a.Count) })
}

// String says it in a line.
func (r Refused) String() string {
	at := cmp.Or(r.Path, r.Class)
	if at != "" {
		at += ": "
	}
	line := fmt.Sprintf("%d of %s%s", r.Count, text.Line(at), text.Line(r.Reason))
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
	add(v.CountRefused(), "values that were refused")
	add(v.Unreadable, "unreadable members")
	add(int(r.Held.Count), "values that a bridge holds, of "+r.From)
	add(int(r.Reserved), "values that a dq.ReliableQueue holds")
	add(int(r.Dead), "dead letters of a dq.ReliableQueue")
	if v.Unsure {
		left = append(left, "members that are not listed were not looked for, for the list moves too fast or is too long")
	}
	return strings.Join(left, ", ")
}

// RefusedError says that values are refused, so that nothing was changed.
type RefusedError struct {
	To     string
	Values Values
}

func (e *RefusedError) Error() string {
	n, first := e.Values.CountRefused(), e.Values.Refused[0]
	return fmt.Sprintf("%d of the values would not come out as they are in %s: %s; let what takes them today take them, or --partial rewrites the others and leaves these, "+
		"which whoever takes them with %s then loses", n, e.To, first, e.To)
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
