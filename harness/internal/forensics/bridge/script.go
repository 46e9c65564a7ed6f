package bridge

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/internal/redis"
)

var (
	//go:embed bridge.lua
	body string
	//go:embed may.lua
	mayBody string
)

// mayRun fails where the user may not do what step does, or the server takes no writes. It changes
// nothing.
//
//	KEYS    as those of step
//	returns 1
//	cost    O(log of the members)
var mayRun = redis.NewScript(mayBody)

// step takes members out of the queue that come due soon, and delivers those that are due.
//
//	KEYS    D, T, Q, H, X, U1, U2 (see scripts.Unlisting)
//	ARGV    now in Unix ms; horizon in Unix ms; limit; the layout that counts where a member fits both
//	returns [score of the first member left in T that can come due, or nil; of the first held, or
//	        nil; 1 if T begins with a negative score; taken out; delivered of dLc0; of Bc0Lc0;
//	        quarantined; held; errors of keys of a wrong type that it goes on without, or nil; due
//	        members left in H, for nobody can read them and X cannot be used]
//	cost    O(limit × length of Q), as Redisson's: one LREM for each member, which is O(1) where
//	        members come due in the order of their offers
//
// Members with a score from 0 to the horizon, limit of them at most, go from T and Q to H with
// their scores. Of those in H with a score from 0 to now, limit of them at most, the values go to
// the end of D, in order of score and then of bytes. A member that is of neither layout goes to X.
// Where X, U1 or U2 is of a wrong type, all else is done.
var step = redis.NewScript(scripts.Prelude() + body)

// limit is how many members one call takes out, and delivers: as many as a transfer of
// Redisson's, which keeps the server busy for as long.
const limit = 100

// stepped is what a call did. Times are in Unix ms, never where there is none.
type stepped struct {
	next, due   int64
	stuck       bool // announcements do not come, for a head that is never due
	taken       int
	dLc0        int
	bc0Lc0      int
	quarantined int
	held        int
	wrong       string // keys of a wrong type
	kept        int
}

// never is a time that does not come.
const never = math.MaxInt64

func readStepped(reply any) (s stepped, err error) {
	items, ok := reply.([]any)
	if !ok || len(items) != 10 {
		return s, fmt.Errorf("expected 10 items from the script, got %.80q", fmt.Sprint(reply))
	}
	if s.next, err = score(items[0]); err != nil {
		return s, err
	}
	if s.due, err = score(items[1]); err != nil {
		return s, err
	}
	var stuck int
	for i, into := range []*int{&stuck, &s.taken, &s.dLc0, &s.bc0Lc0, &s.quarantined, &s.held} {
		n, ok := items[i+2].(int64)
		if !ok {
			return s, fmt.Errorf("expected a number as item %d from the script, got %.80q", i+3, fmt.Sprint(items[i+2]))
		}
		*into = int(n)
	}
	s.stuck = stuck == 1
	s.wrong, _ = items[8].(string)
	kept, _ := items[9].(int64)
	s.kept = int(kept)
	return s, nil
}

// score reads one, a fraction rounded up; one that cannot come due is never.
func score(item any) (int64, error) {
	if item == nil {
		return never, nil
	}
	text, ok := item.(string)
	if !ok {
		return never, fmt.Errorf("expected a score from the script, got %.80q", fmt.Sprint(item))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return never, fmt.Errorf("expected a score from the script, got %.80q", text)
	}
	if f = math.Ceil(f); f < 0 || f >= math.MaxInt64 {
		return never, nil
	}
	return int64(f), nil
}
