package agent

import (
	"bytes"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
)

// Every value says which message it is and when it is due. It is ASCII, the same for every driver and language:
//
//	dqb3|<run id>|<index>|<due>|<checksum>|.....
//
// run id and index are 8 hex digits, due 16 (Unix ns), checksum 8, all lower case. Dots fill up
// the payload size. The checksum is the CRC-32 (IEEE 802.3) of all the value but its own digits.

// HeaderSize is the length of a payload without the filling.
const HeaderSize = len("dqb3|01234567|01234567|0123456789abcdef|01234567|")

// checksumAt is where the digits of the checksum begin.
const checksumAt = HeaderSize - 9

const magic = "dqb3|"

// Payload returns the value of a message, of size bytes, at least HeaderSize. It is newly
// allocated: an implementation may keep what it was offered.
func Payload(run, index uint32, due int64, size int) []byte {
	b := make([]byte, 0, max(size, HeaderSize))
	b = append(b, magic...)
	b = appendHex(b, uint64(run), 8)
	b = appendHex(b, uint64(index), 8)
	b = appendHex(b, uint64(due), 16)
	b = append(b, "00000000|"...)
	for len(b) < size {
		b = append(b, '.')
	}
	appendHex(b[:checksumAt], uint64(checksum(b)), 8)
	return b
}

// checksum is of a whole payload but for its digits.
func checksum(value []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(value[:checksumAt]), crc32.IEEETable, value[checksumAt+8:])
}

func appendHex(b []byte, v uint64, digits int) []byte {
	const hex = "0123456789abcdef"
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, hex[v>>shift&15])
	}
	return append(b, '|')
}

// Parse reads a value that was taken in a run: Taken, Corrupt or Foreign.
func Parse(value []byte, run uint32) (kind Kind, index uint32, due int64) {
	switch {
	case !bytes.HasPrefix(value, []byte(magic)):
		return Foreign, 0, 0
	case len(value) < HeaderSize:
		return Corrupt, 0, 0
	}
	sum, err := strconv.ParseUint(string(value[checksumAt:checksumAt+8]), 16, 64)
	if err != nil || uint32(sum) != checksum(value) {
		return Corrupt, 0, 0
	}
	of, index, due, ok := header(value)
	if !ok || of != run {
		return Foreign, 0, 0
	}
	return Taken, index, due
}

// header reads the header at the beginning of value, whatever follows.
func header(value []byte) (run, index uint32, due int64, ok bool) {
	var fields [3]uint64
	at := len(magic)
	for i, digits := range []int{8, 8, 16} {
		text := string(value[at : at+digits])
		v, err := strconv.ParseUint(text, 16, 64)
		if err != nil || value[at+digits] != '|' || text != strings.ToLower(text) {
			return 0, 0, 0, false
		}
		fields[i], at = v, at+digits+1
	}
	return uint32(fields[0]), uint32(fields[1]), int64(fields[2]), fields[2] <= math.MaxInt64
}

// Find looks for a message of a run anywhere in value: what an implementation stores has its own
// framing around what it was offered.
func Find(value []byte, run uint32) (index uint32, due int64, ok bool) {
	for {
		at := bytes.Index(value, []byte(magic))
		if at < 0 || len(value)-at < HeaderSize {
			return 0, 0, false
		}
		if of, index, due, ok := header(value[at:]); ok && of == run {
			return index, due, true
		}
		value = value[at+1:]
	}
}

// HoldsPayload reports whether a text has the beginning of a payload in it.
func HoldsPayload(text string) bool { return strings.Contains(text, magic) }
