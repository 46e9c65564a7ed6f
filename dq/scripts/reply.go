package scripts

import "fmt"

// Transferred is what Transfer returns.
type Transferred struct {
	// Next is the score of the first member left in T, as the server writes it:
	// decimal, not always whole or positive. Empty when T is.
	Next string
	// Delivered is how many values were pushed to D.
	Delivered int
	// OtherLayout is how many of these were not of the own layout.
	OtherLayout int
	// Quarantined is how many members went to X.
	Quarantined int
	// Already is how many members only had to leave T: the failed transfer had
	// pushed their values.
	Already int
}

// ReadTransferred reads the reply of Transfer: a string or nil, then four
// integers, as clients of Redis decode them.
func ReadTransferred(reply any) (Transferred, error) {
	items, ok := reply.([]any)
	if !ok || len(items) != 5 {
		return Transferred{}, unexpected(Transfer(), "5 items", reply)
	}
	var t Transferred
	if items[0] != nil {
		if t.Next, ok = items[0].(string); !ok {
			return Transferred{}, unexpected(Transfer(), "a score or nil in front", reply)
		}
	}
	for i, field := range []*int{&t.Delivered, &t.OtherLayout, &t.Quarantined, &t.Already} {
		n, ok := items[1+i].(int64)
		if !ok {
			return Transferred{}, unexpected(Transfer(), "four integers behind the score", reply)
		}
		*field = int(n)
	}
	return t, nil
}

// Taken says where TakeOut found a member.
type Taken int

// Where a member was. It is gone from both in any case.
const (
	// TakenNowhere: somebody else had removed or delivered it.
	TakenNowhere Taken = iota
	// TakenPending: it was in Q. Its value is the caller's alone, unless it is the
	// second copy of an offer that was sent again: see TakeOut.
	TakenPending
	// TakenTimeoutSet: it was in T only. It is removed, but its value may be in D
	// already, for that is how a transfer of Redisson's leaves it that fails at a
	// later member.
	TakenTimeoutSet
)

// ReadTaken reads the reply of TakeOut, one integer for each member.
func ReadTaken(reply any) ([]Taken, error) {
	items, ok := reply.([]any)
	if !ok {
		return nil, unexpected(TakeOut(), "an array", reply)
	}
	taken := make([]Taken, len(items))
	for i, item := range items {
		n, ok := item.(int64)
		if !ok || n < int64(TakenNowhere) || n > int64(TakenTimeoutSet) {
			return nil, unexpected(TakeOut(), "0, 1 or 2 for each member", reply)
		}
		taken[i] = Taken(n)
	}
	return taken, nil
}

func unexpected(s Script, expected string, reply any) error {
	return fmt.Errorf("script %s: expected %s from the server, got %.80q", s.Name, expected, fmt.Sprint(reply))
}
