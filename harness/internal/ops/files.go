package ops

import (
	"bytes"
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

// undoHead is the first line of an undo file.
type undoHead struct {
	Server string `json:"server"`
	Run    string `json:"run"`
	Form
}

// opposite is the action that undoes another.
var opposite = map[string]string{
	"cancel": "restore", "deliver": "takeback", "reschedule": "reschedule", "aside": "unaside", "ghost": "unghost", "once": "again", "list": "unlist", "hold": "drop",
	"restore": "cancel", "takeback": "deliver", "put": "cancel", "unaside": "aside", "unghost": "ghost", "again": "once", "unlist": "list", "drop": "hold",
}

// undone is the change that undoes c.
func (c Change) undone() Change {
	back := map[bool]string{true: c.Score}[c.Action == "reschedule"]
	c.Action, c.Score, c.Due, c.undoes = opposite[c.Action], cmp.Or(c.Due, c.Score), back, c.Number
	switch {
	case !isPacked(c.Of) && c.Action == "restore":
		c.Action = "put"
	case back != "":
		c.New = []byte(c.Score) // others may have rescheduled it since
	}
	return c
}

// write writes lines of an undo file, which are on the disk when it returns; nil is no file.
func write(file io.Writer, lines ...Change) error {
	out := json.NewEncoder(cmp.Or(file, io.Discard))
	for _, line := range lines {
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	if s, ok := file.(interface{ Sync() error }); ok {
		return s.Sync()
	}
	return nil
}

// Undo is an undo file: the changes that one run was about to make to a queue. The server knows which of them it has made.
type Undo struct {
	undoHead
	queue   string
	changes []Change
}

// ReadUndo reads an undo file. A last line that was cut off is left out: its change had not begun.
func ReadUndo(data []byte) (*Undo, error) {
	u, n := &Undo{}, 0
	for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
		var c Change
		n++
		switch known := json.Unmarshal(line, &c) == nil; {
		case n == 1 && json.Unmarshal(line, &u.undoHead) == nil && u.Run != "":
		case known && n > 1 && c.Number > 0 && c.Sum == c.sum(u.Run) && opposite[c.Action] != "" && slices.Contains(Parts, c.Of) && (n == 2 || string(c.Queue) == u.queue):
			u.queue, u.changes = string(c.Queue), append(u.changes, c)
		default:
			return nil, fmt.Errorf("line %d: expected a line of an undo file, as it was written", n)
		}
	}
	if len(u.changes) == 0 {
		return nil, errors.New("expected an undo file with changes, got none: the file was cut off before the first one began")
	}
	return u, nil
}

// Plan returns changes that undo the made ones among the file's, by their fates; the last one first. rest says why there may be more.
func (u *Undo) Plan(fates string) (undone []Change, rest string, err error) {
	left := []byte(fates)
	for _, c := range slices.Backward(u.changes) {
		if c.Number < len(left) && left[c.Number] == '1' {
			undone, left[c.Number] = append(undone, c.undone()), 'u'
		}
	}
	for from, to := 0, 0; from < len(undone); from = to { // changes of one kind keep their order: a list is filled from its head
		for to = from; to < len(undone) && undone[to].Action == undone[from].Action; to++ {
		}
		slices.Reverse(undone[from:to])
	}
	ended, used := strings.HasPrefix(fates, "c"), strings.Contains(fates, "u")
	if lacks := int64(bytes.Count(left, []byte("1"))); lacks > 0 && ended { // else the command goes on
		rest = fmt.Sprintf("Not all: the file lacks %s that its command changed: it was cut off or edited, or is a copy from before the end", messages(lacks))
	} else if lost := int64(strings.Count(fates, "\x00")); lost > 0 {
		rest = fmt.Sprintf("Not all: the server has lost what became of %s", messages(lost))
	} else if fates == "" {
		rest = fmt.Sprintf("The server knows of no change of it, which was for %s: --yes has it refuse later ones", u.Server)
	} else if !ended {
		rest = "Its command was killed, or goes on: --yes ends it"
	}
	switch {
	case len(undone) > 0 || !ended && !used:
	case used:
		err = errors.New(strings.TrimSuffix("its changes were undone already, or their messages back or gone by then; "+rest, "; "))
	case ended && rest != "":
		err = errors.New(rest)
	default:
		err = fmt.Errorf("the server knows of no change of it, which was for %s: none was made, or that is more than 30 days ago, or was evicted", u.Server)
	}
	return undone, rest, err
}
