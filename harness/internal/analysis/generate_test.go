package analysis_test

import (
	"fmt"
	"io"
)

// lives is the MONITOR log, of a size of one's choice, of a client that offers a message a millisecond and transfers what is due,
// and of a consumer that takes each message at once. Besides, an unrelated command goes with each offer.
type lives struct {
	*story
	delay   int64 // ms
	size    int64 // bytes at which it ends, at the end of a line
	written int64
	rest    string
	waiting []pending // in order of due
}

type pending struct {
	due    int64 // ms after the beginning
	member string
}

func (l *lives) Read(p []byte) (int, error) {
	if l.rest == "" {
		if l.written >= l.size {
			return 0, io.EOF
		}
		for l.out.Reset(); l.out.Len() < 64<<10; {
			l.millisecond()
		}
		l.rest = l.out.String()
		l.written += int64(len(l.rest))
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lives) millisecond() {
	now := (l.clock - storyBegins) / 1000
	due := now + l.delay
	l.waiting = append(l.waiting, pending{due, l.offer(fmt.Sprintf(`{"order":%d,"customer":"somebody","total":"12.50"}`, l.ids), due)})
	l.add("10.0.0.9:6000", "GET", fmt.Sprint("session:", l.ids))
	var moved []string
	for len(l.waiting) > 0 && l.waiting[0].due <= now {
		moved, l.waiting = append(moved, l.waiting[0].member), l.waiting[1:]
	}
	if len(moved) > 0 {
		l.transfer(true, moved...)
	}
	for range moved {
		l.add("10.0.0.2:7000", "BLPOP", orders.Destination, "0")
	}
	l.wait(now + 1)
}
