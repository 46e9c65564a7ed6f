package ops

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

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
	server, queue, run string
	form               Form
	changes            []Change
}

// ReadUndo reads an undo file. A last line that was cut off is left out: its change had not begun.
func ReadUndo(data []byte) (*Undo, error) {
	u, n := &Undo{}, 0
	for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
		var c Change
		var head undoHead
		n++
		switch known := json.Unmarshal(line, &c) == nil; {
		case n == 1 && json.Unmarshal(line, &head) == nil && head.Run != "":
			u.server, u.run, u.form = head.Server, head.Run, head.Form
		case known && n > 1 && c.Number > 0 && c.Sum == c.sum(u.run) && opposite[c.Action] != "" && slices.Contains(Parts, c.Of) && (n == 2 || string(c.Queue) == u.queue):
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
		rest = fmt.Sprintf("The server knows of no change of it, which was for %s: --yes has it refuse later ones", u.server)
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
		err = fmt.Errorf("the server knows of no change of it, which was for %s: none was made, or that is more than 30 days ago, or was evicted", u.server)
	}
	return undone, rest, err
}
