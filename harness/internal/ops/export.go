package ops

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Exported is a line of queue export.
type Exported struct {
	Of     string `json:"of"`
	ID     string `json:"id"`
	Due    string `json:"due,omitempty"` // Unix ms
	Layout string `json:"layout"`
	Codec  string `json:"codec,omitempty"`
	Shown  string `json:"shown,omitempty"`
	Value  []byte `json:"value"` // in base64
	Member []byte `json:"member,omitempty"`
	Values string `json:"values,omitempty"` // see Form
}

// Export is an item as a line of JSON.
func (i Item) Export() Exported {
	x := Exported{Of: i.Of, ID: i.ID, Layout: i.Layout, Codec: i.Codec, Shown: i.Value, Value: i.value, Values: i.values}
	if i.Layout != "value" {
		x.Member, x.Due = []byte(i.key), scoreOf(i.DueMS)
	}
	return x
}

// Import reads lines of queue export, and returns the changes that put them into the queue: members keep their due time and id, values
// go to the destination. Unreadable members, and members that are never due, are set aside. One bad line is an error.
func (e *Editor) Import(r io.Reader) (all []Change, err error) {
	for in := json.NewDecoder(r); ; {
		var x Exported
		err := in.Decode(&x)
		if err == io.EOF && len(all) > 0 { //nolint:errorlint // this very value
			return all, nil
		}
		if err == nil && e.since.Values != "" && x.Values != e.since.Values {
			return nil, fmt.Errorf("line %d: the values of the queue were migrated, and the export is from before or of another queue: --force imports it as it is", len(all)+1)
		}
		due, noDue := strconv.ParseFloat(cmp.Or(x.Due, "0"), 64)
		c := Change{Queue: []byte(e.names.Destination), Of: "waiting", Action: "restore", Key: x.Member, New: x.Value, Score: fmt.Sprintf("%.0f", math.Ceil(due))}
		switch {
		case err == io.EOF: //nolint:errorlint // this very value
			err = errors.New("got none")
		case err != nil:
		case !slices.Contains(Parts, x.Of):
			err = fmt.Errorf("got of %q, not one of %s", x.Of, strings.Join(Parts, ", "))
		case noDue != nil || math.IsNaN(due), (isPacked(x.Of) || x.Of == "aside") && (len(x.Member) == 0 || x.Due == ""):
			err = fmt.Errorf("got a member of %d bytes, and due %q", len(x.Member), x.Due)
		case len(x.Member) > 0 && x.Value != nil && string(memberOf("", string(x.Member), 0).value) != string(x.Value):
			err = errors.New("its member holds another value: a line of \"ready\" without a member is a new message, delivered at once")
		case x.Of == "aside" || len(x.Member) > 0 && (layoutOf(string(x.Member)) == 0 || isNever(due)):
			c.Action = "hold"
		case len(x.Member) > 0:
		case x.Value == nil:
			err = errors.New("it has neither a member nor a value")
		default:
			c.Of, c.Action, c.Key, c.Score = "ready", "put", x.Value, "0"
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: expected a line of queue export: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
}
