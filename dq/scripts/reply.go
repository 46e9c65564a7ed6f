package scripts

import "fmt"

// scan reads the items of a reply, as clients of Redis decode them, into as many places: *string, *int, *int64, *bool (a
// number above 0) or *[]any. A nil item leaves its place as it is.
func scan(s Script, reply any, places ...any) error {
	items, _ := reply.([]any)
	fits := len(items) == len(places)
	for i := 0; fits && i < len(items); i++ {
		n, isNumber := items[i].(int64)
		switch place := places[i].(type) {
		case *string:
			text, isText := items[i].(string)
			if fits = isText || items[i] == nil; isText {
				*place = text
			}
		case *int:
			*place, fits = int(n), isNumber
		case *int64:
			*place, fits = n, isNumber
		case *bool:
			*place, fits = n > 0, isNumber
		case *[]any:
			*place, fits = items[i].([]any)
		}
	}
	if !fits {
		return fmt.Errorf("script %s: expected an array of %d items of the kinds it returns from the server, got %.80q", s.Name, len(places), fmt.Sprint(reply))
	}
	return nil
}

// Transferred is what Transfer returns.
type Transferred struct {
	// Next is the score of the first member left in T that becomes due, as the server writes it: decimal, not always whole.
	// Empty without one.
	Next string
	// OtherLayout is how many of the delivered values were not of the own layout.
	OtherLayout int
	// Quarantined is how many members went to X.
	Quarantined int
	// Stuck says that the first member has a score below 0, as an overflowing delay gives it: it is never due, and while it
	// is there no later offer is announced.
	Stuck bool
}

// ReadTransferred reads the reply of Transfer, as clients of Redis decode it: a string or nil, or an array of four: a string or nil, and integers.
func ReadTransferred(reply any) (t Transferred, err error) {
	places := []any{&t.Next, &t.OtherLayout, &t.Quarantined, &t.Stuck}
	if _, isRare := reply.([]any); !isRare {
		reply, places = []any{reply}, places[:1]
	}
	err = scan(Transfer(), reply, places...)
	return t, err
}

// Place is a position for Find: after so many members of a score.
type Place struct {
	Score string
	Seen  int64
}

// ReadFound reads the reply of Find: the next place, false after the last member, and the members found.
func ReadFound(reply any) (at Place, found []string, more bool, err error) {
	items, _ := reply.([]any)
	if items != nil && len(items) == 0 {
		return at, nil, false, nil
	}
	found = make([]string, max(0, len(items)-2))
	places := []any{&at.Score, &at.Seen}
	for i := range found {
		places = append(places, &found[i])
	}
	if err := scan(Find(), reply, places...); err != nil {
		return Place{}, nil, false, err
	}
	return at, found, true, nil
}
