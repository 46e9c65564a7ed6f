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

// ReadTaken reads the reply of TakeOut: for each member whether it was in Q, so that its
// value is the caller's alone, unless it is the second copy of an offer that was sent again.
func ReadTaken(reply any) ([]bool, error) {
	items, ok := reply.([]any)
	if !ok {
		return nil, unexpected(TakeOut(), "an array", reply)
	}
	taken := make([]bool, len(items))
	for i, item := range items {
		n, ok := item.(int64)
		if !ok || n < 0 || n > 1 {
			return nil, unexpected(TakeOut(), "0 or 1 for each member", reply)
		}
		taken[i] = n == 1
	}
	return taken, nil
}

func unexpected(s Script, expected string, reply any) error {
	return fmt.Errorf("script %s: expected %s from the server, got %.80q", s.Name, expected, fmt.Sprint(reply))
}
