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
}

// ReadTransferred reads the reply of Transfer: a string or nil, then three
// integers, as clients of Redis decode them.
func ReadTransferred(reply any) (Transferred, error) {
	items, ok := reply.([]any)
	if !ok || len(items) != 4 {
		return Transferred{}, unexpected(Transfer(), "4 items", reply)
	}
	var t Transferred
	if items[0] != nil {
		if t.Next, ok = items[0].(string); !ok {
			return Transferred{}, unexpected(Transfer(), "a score or nil in front", reply)
		}
	}
	for i, field := range []*int{&t.Delivered, &t.OtherLayout, &t.Quarantined} {
		n, ok := items[1+i].(int64)
		if !ok {
			return Transferred{}, unexpected(Transfer(), "three integers behind the score", reply)
		}
		*field = int(n)
	}
	return t, nil
}

// Place is a position for Find: after so many members of a score.
type Place struct {
	Score string
	Seen  int64
}

// ReadFound reads the reply of Find: the next place, false after the last member, and the members found.
func ReadFound(reply any) (at Place, found []string, more bool, err error) {
	items, ok := reply.([]any)
	if !ok || len(items)%2 != 0 {
		return at, nil, false, unexpected(Find(), "pairs", reply)
	}
	if len(items) == 0 {
		return at, nil, false, nil
	}
	score, isText := items[0].(string)
	seen, isNumber := items[1].(int64)
	for _, item := range items[2:] {
		text, ok := item.(string)
		isText = isText && ok
		found = append(found, text)
	}
	if !isText || !isNumber {
		return at, nil, false, unexpected(Find(), "a place, and strings behind it", reply)
	}
	return Place{score, seen}, found, true, nil
}

func unexpected(s Script, expected string, reply any) error {
	return fmt.Errorf("script %s: expected %s from the server, got %.80q", s.Name, expected, fmt.Sprint(reply))
}
