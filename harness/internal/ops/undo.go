package ops

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// opposite is the action that undoes another.
var opposite = map[string]string{
	"cancel": "restore", "deliver": "takeback", "reschedule": "reschedule", "aside": "unaside", "ghost": "unghost", "once": "again", "list": "unlist",
	"restore": "cancel", "takeback": "deliver", "put": "cancel", "unaside": "aside", "unghost": "ghost", "again": "once", "unlist": "list",
}

// undone is the change that undoes c.
func (c Change) undone() Change {
	c.Action, c.Due = opposite[c.Action], ""
	if !isPacked(c.Of) && c.Action == "restore" {
		c.Action = "put"
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

// Undo is an undo file of one queue.
type Undo struct {
	server, queue string
	changes       []*Change
	used          bool // some changes were undone
	whole, size   int  // bytes: of whole lines, of all
}

// ReadUndo reads an undo file. A last line that was cut off is left out: its change had not begun.
func ReadUndo(data []byte) (*Undo, error) {
	u, byLine := &Undo{whole: bytes.LastIndexByte(data, '\n') + 1, size: len(data)}, map[int]*Change{}
	for n, line := range bytes.SplitAfter(data[:max(0, u.whole-1)], []byte("\n")) {
		c := &Change{line: n}
		from := len(u.changes)
		switch known := json.Unmarshal(line, c) == nil; {
		case known && opposite[c.Action] != "" && slices.Contains(Parts, c.Of) && (from == 0 || string(c.Queue) == u.queue):
			u.queue, u.changes, byLine[n] = string(c.Queue), append(u.changes, c), c
		case known && c.Done != "" && len(c.Done) <= from:
			for i := range c.Done {
				u.changes[from-len(c.Done)+i].made = c.Done[i]
			}
		case known && c.Server != "":
			u.server = c.Server
		case known && len(c.Undoing)+len(c.Undone) > 0:
			u.used = true
			for _, line := range slices.Concat(c.Undoing, c.Undone) {
				if of := byLine[line]; of != nil {
					if of.half == 0 {
						*of = of.undone()
					}
					of.made, of.half = map[bool]byte{true: '1'}[c.Undone != nil], n
				}
			}
		default:
			return nil, fmt.Errorf("line %d: expected a line of an undo file", n+1)
		}
	}
	return u, nil
}

// open opens the file for marks, if it is as it was read.
func (u *Undo) open(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	if end, _ := file.Seek(0, io.SeekEnd); end != int64(u.size) {
		return nil, errors.Join(errors.New("it was changed since the plan: choose again"), file.Close())
	}
	return file, file.Truncate(int64(u.whole))
}

// Plan returns changes that undo the file's, the last one first, without the undone ones. It looks at the queue if a batch has no result:
// a batch is atomic. Changes of which the queue shows nothing are unsure.
func (u *Undo) Plan(ctx context.Context, conn redis.Conn) (undone, unsure []Change, err error) {
	at, err := redis.Time(ctx, conn)
	if err != nil {
		at = time.Now()
	}
	none := map[int]bool{} // by batch
	var cut []*Change
	for _, c := range u.changes {
		if c.made != 0 {
			continue
		}
		if c.made, err = NewEditor(conn, u.queue).made(ctx, *c, float64(at.UnixMilli())); err != nil {
			return nil, nil, err
		}
		cut, none[c.half] = append(cut, c), none[c.half] || c.made == '0'
	}
	for _, c := range cut {
		if none[c.half] {
			c.made = '0'
		}
	}
	for _, c := range slices.Backward(u.changes) {
		switch {
		case c.made == '?':
			unsure = append(unsure, *c)
		case c.half > 0 && c.made == '0':
			undone = append(undone, *c)
		case c.half == 0 && c.made == '1':
			undone = append(undone, c.undone())
		}
	}
	for from, to := 0, 0; from < len(undone); from = to { // changes of one kind keep their order: the list is filled from its head
		for to = from; to < len(undone) && undone[to].Action == undone[from].Action; to++ {
		}
		slices.Reverse(undone[from:to])
	}
	if len(undone)+len(unsure) == 0 {
		return nil, nil, errors.New(map[bool]string{true: "its changes were undone already", false: "its changes were not made"}[u.used])
	}
	return undone, unsure, nil
}

// made returns '1' if the queue shows that a change was made, '0' if it was not, and '?' if others may have made it.
func (e *Editor) made(ctx context.Context, c Change, nowMS float64) (byte, error) {
	kept, pending := GhostsKey(e.names.Destination), e.names.Pending
	list := map[string]string{"ghost": kept, "unghost": kept, "list": pending, "unlist": pending, "once": pending, "again": pending}[c.Action]
	part := c.Of
	if isPacked(part) {
		part = "aside"
	}
	r, _ := e.conn.Pipe(ctx, []any{"ZSCORE", e.set("waiting"), c.Key}, []any{"ZSCORE", e.set("ahead"), c.Key}, []any{"ZSCORE", e.set(part), c.Key},
		[]any{"LPOS", cmp.Or(list, kept), c.Key, "COUNT", 2})
	if err := r[0].Err(); err != nil && !errors.Is(err, redis.Nil) {
		return 0, err
	}
	score, absent := r[0].Float64()
	if absent != nil {
		score, absent = r[1].Float64()
	}
	waits, other := absent == nil, r[2].Err() == nil
	listed, unknown := r[3].Slice()
	due, _ := strconv.ParseFloat(c.Score, 64)
	target, _ := strconv.ParseFloat(cmp.Or(c.Due, c.Score), 64)
	gone := slices.Contains([]string{"cancel", "deliver", "unghost", "unlist", "once"}, c.Action)
	there, unsure := waits, !waits && due >= 0 && due <= nowMS // it may have been transferred
	switch {
	case c.Of == "ready": // equal values
		unsure = true
	case c.Action == "reschedule":
		there, unsure = score == target, !waits
	case c.Action == "aside", !isPacked(c.Of): // a Worker ends its leases
		there, unsure = other, !other && gone && (c.Of == "held" || c.Of == "retry")
	case list != "": // no LPOS before Redis 6.0.6
		there, unsure = len(listed) > map[string]int{"once": 1, "again": 1}[c.Action], unknown != nil
	}
	switch {
	case unsure:
		return '?', nil
	case there != gone:
		return '1', nil
	}
	return '0', nil
}
