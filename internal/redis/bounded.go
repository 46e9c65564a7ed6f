package redis

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	// maxReply bounds a reply, in bytes; each element of a list counts elementCost as well.
	maxReply, elementCost = 256 << 20, 16
	// maxDepth bounds the nesting of lists.
	maxDepth = 32
)

// errReply ends a connection.
var errReply = errors.New("the server's reply does not end, or is none: its connection was closed")

// bounded ends a connection in the middle of a reply that is too large, by its bytes or by its header: before a client allocates
// memory for it.
type bounded struct {
	net.Conn
	most int64

	left int64   // of the current reply
	bulk int64   // bytes to come of a string and its CR LF
	head []byte  // the line's beginning
	open []int64 // elements to come, of each list around the current value
	err  error
}

func newBounded(c net.Conn, most int64) *bounded { return &bounded{Conn: c, most: most, left: most} }

func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.Conn.Read(p)
	if b.err = b.pass(p[:n]); b.err != nil {
		_ = b.Close()
		return 0, b.err
	}
	return n, err
}

// Write returns the server's reason if the server closed the connection because it wants a certificate.
func (b *bounded) Write(p []byte) (int, error) {
	n, err := b.Conn.Write(p)
	if err != nil {
		_ = b.SetReadDeadline(time.Now().Add(time.Second))
		if _, why := b.Conn.Read(make([]byte, 1)); why != nil && strings.Contains(why.Error(), "tls: ") {
			err = why
		}
	}
	return n, err
}

// pass follows the replies in bytes.
func (b *bounded) pass(p []byte) error {
	for len(p) > 0 {
		if b.bulk > 0 {
			n := min(int64(len(p)), b.bulk)
			p, b.bulk, b.left = p[n:], b.bulk-n, b.left-n
			if b.bulk == 0 {
				b.ended()
			}
			continue
		}
		c := p[0]
		p, b.left = p[1:], b.left-1
		if b.left < 0 {
			return fmt.Errorf("%w: expected at most %d bytes", errReply, b.most)
		}
		if c == '\n' {
			if err := b.header(); err != nil {
				return err
			}
			b.head = b.head[:0]
		} else if len(b.head) < 24 { // the type and a number
			b.head = append(b.head, c)
		}
	}
	return nil
}

// header follows a whole line.
func (b *bounded) header() error {
	if len(b.head) == 0 {
		return errReply
	}
	width := int64(0)
	switch b.head[0] {
	case '$', '=', '!':
	case '*', '~', '>':
		width = 1
	case '%', '|':
		width = 2
	default: // a reply of one line
		b.ended()
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(string(b.head[1:]), "\r"), 10, 64)
	switch {
	case err != nil, len(b.open) == maxDepth:
		return errReply
	case n < 0 || n == 0 && width > 0:
		b.ended()
	case width == 0 && n+2 > b.left, width > 0 && n > b.left/(width*elementCost):
		return fmt.Errorf("%w: expected at most %d bytes, its header says %d", errReply, b.most, n)
	case width == 0:
		b.bulk = n + 2
	default:
		b.left -= n * width * elementCost
		n *= width
		if b.head[0] == '|' {
			n++ // the value that the attribute describes
		}
		b.open = append(b.open, n)
	}
	return nil
}

// ended counts a whole value, and the lists that end with it.
func (b *bounded) ended() {
	for len(b.open) > 0 {
		last := len(b.open) - 1
		if b.open[last]--; b.open[last] > 0 {
			return
		}
		b.open = b.open[:last]
	}
	b.left = b.most
}
