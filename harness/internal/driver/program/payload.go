package program

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
)

// Every value says which message it is and when it is due. It is ASCII, the same for every driver and language:
//
//	dqb3|<run id>|<index>|<due>|<checksum>|.....
//
// run id and index are 8 hex digits, due 16 (Unix ns), checksum 8, all lower case. Dots fill up
// the payload size. The checksum is the CRC-32 (IEEE 802.3) of all the value but its own digits.
const (
	magic  = "dqb3|"
	header = magic + "%08x|%08x|%016x|"

	// checksumAt is the offset of the checksum's digits.
	checksumAt = len(magic) + 9 + 9 + 17
	// HeaderSize is the length of a payload without the filling.
	HeaderSize = checksumAt + 9
)

// Payload returns the value of a message, of size bytes, at least HeaderSize. It is newly
// allocated: an implementation may keep it.
func Payload(run, index uint32, due int64, size int) []byte {
	b := fmt.Appendf(make([]byte, 0, max(size, HeaderSize)), header+"00000000|", run, index, uint64(due))
	for len(b) < size {
		b = append(b, '.')
	}
	copy(b[checksumAt:], checksum(b))
	return b
}

// checksum is of a whole payload but for its digits.
func checksum(value []byte) string {
	return fmt.Sprintf("%08x", crc32.Update(crc32.ChecksumIEEE(value[:checksumAt]), crc32.IEEETable, value[checksumAt+8:]))
}

// ParsePayload reads a value that was taken in a run: Taken, Corrupt or Foreign.
func ParsePayload(value []byte, run uint32) (kind Kind, index uint32, due int64) {
	switch {
	case !bytes.HasPrefix(value, []byte(magic)):
		return Foreign, 0, 0
	case len(value) < HeaderSize || checksum(value) != string(value[checksumAt:checksumAt+8]):
		return Corrupt, 0, 0
	}
	index, due, ok := readHeader(value, run)
	if !ok {
		return Foreign, 0, 0
	}
	return Taken, index, due
}

// readHeader reads the header at the beginning of value, whatever follows; ok is false for another run.
func readHeader(value []byte, run uint32) (index uint32, due int64, ok bool) {
	text := string(value[:checksumAt])
	var of uint32
	var at uint64
	_, err := fmt.Sscanf(text, header, &of, &index, &at)
	return index, int64(at), err == nil && of == run && at <= math.MaxInt64 && text == fmt.Sprintf(header, of, index, at)
}

// FindPayload looks for a message of a run anywhere in value: an implementation may store its own
// framing around it.
func FindPayload(value []byte, run uint32) (index uint32, due int64, ok bool) {
	for {
		at := bytes.Index(value, []byte(magic))
		if at < 0 || len(value)-at < HeaderSize {
			return 0, 0, false
		}
		if index, due, ok := readHeader(value[at:], run); ok {
			return index, due, true
		}
		value = value[at+1:]
	}
}

// HoldsPayload reports whether a text has the beginning of a payload in it.
func HoldsPayload(text string) bool { return strings.Contains(text, magic) }
