package plan

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
)

// Every value says which message it is and when it is due, so that whoever takes
// it can account for it. It is ASCII, the same for every driver and language:
//
//	dqb2|<run id>|<producer>|<seq>|<due>|<phase>|<checksum>|.....
//
// run id is 8 hex digits, producer 4, seq 8, due 16 (Unix time in ns), checksum 8,
// all lower case; phase is w for warm-up or m for measured. Dots fill up the payload
// size. The checksum is the CRC-32 (IEEE 802.3) of all the value but its own digits.

// HeaderSize is the length of a payload without the filling.
const HeaderSize = len("dqb2|01234567|0123|01234567|0123456789abcdef|m|01234567|")

// checksumAt is where the digits of the checksum begin.
const checksumAt = HeaderSize - 9

const payloadMagic = "dqb2|"

// Phase is the part of a run that a message belongs to.
type Phase byte

// The phases of a run.
const (
	Warmup   Phase = 'w'
	Measured Phase = 'm'
)

// Header identifies one message.
type Header struct {
	RunID    uint32
	Producer uint16
	Seq      uint32
	// Due is the due instant, Unix time in ns.
	Due   int64
	Phase Phase
}

var errNoPayload = errors.New("expected a payload dqb2|run id|producer|seq|due|phase|checksum|")

// ErrCorrupt says that a value is a payload that has changed on its way.
var ErrCorrupt = errors.New("a corrupt payload")

// Payload returns the value of size bytes, at least HeaderSize, that carries h.
// It is newly allocated: an implementation may keep what it was offered.
func Payload(h Header, size int) []byte {
	b := make([]byte, 0, max(size, HeaderSize))
	b = append(b, payloadMagic...)
	b = appendHex(b, uint64(h.RunID), 8)
	b = appendHex(b, uint64(h.Producer), 4)
	b = appendHex(b, uint64(h.Seq), 8)
	b = appendHex(b, uint64(h.Due), 16)
	b = append(b, byte(h.Phase), '|')
	b = append(b, "00000000|"...)
	for len(b) < size {
		b = append(b, '.')
	}
	appendHex(b[:checksumAt], uint64(checksum(b)), 8)
	return b
}

// checksum is that of a whole payload but for its digits.
func checksum(value []byte) uint32 {
	sum := crc32.ChecksumIEEE(value[:checksumAt])
	return crc32.Update(sum, crc32.IEEETable, value[checksumAt+8:])
}

func appendHex(b []byte, v uint64, digits int) []byte {
	const hex = "0123456789abcdef"
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, hex[v>>shift&15])
	}
	return append(b, '|')
}

// ParsePayload reads a value. Its error is ErrCorrupt for a payload whose checksum is
// wrong, and says what else it expected for whatever is no payload of dq-bench.
func ParsePayload(value []byte) (Header, error) {
	if len(value) < len(payloadMagic) || !bytes.HasPrefix(value, []byte(payloadMagic)) {
		return Header{}, fmt.Errorf("%w, got %d bytes", errNoPayload, len(value))
	}
	if len(value) < HeaderSize {
		return Header{}, fmt.Errorf("%w, cut off after %d bytes", ErrCorrupt, len(value))
	}
	sum, err := parseHex(value[checksumAt : checksumAt+8])
	if err != nil || uint32(sum) != checksum(value) {
		return Header{}, ErrCorrupt
	}
	return parseHeader(value)
}

// parseHeader reads the header at the beginning of value, whatever follows.
func parseHeader(value []byte) (Header, error) {
	rest := value[len(payloadMagic):]
	var fields [4]uint64
	for i, digits := range []int{8, 4, 8, 16} {
		v, err := parseHex(rest[:digits])
		if err != nil || rest[digits] != '|' {
			return Header{}, fmt.Errorf("%w, got %q", errNoPayload, value[:HeaderSize])
		}
		fields[i], rest = v, rest[digits+1:]
	}
	phase := Phase(rest[0])
	if rest[1] != '|' || (phase != Warmup && phase != Measured) || fields[3] > math.MaxInt64 {
		return Header{}, fmt.Errorf("%w, got %q", errNoPayload, value[:HeaderSize])
	}
	return Header{
		RunID: uint32(fields[0]), Producer: uint16(fields[1]), Seq: uint32(fields[2]), Due: int64(fields[3]), Phase: phase,
	}, nil
}

// parseHex takes lower-case digits only: one message has one form.
func parseHex(digits []byte) (uint64, error) {
	for _, c := range digits {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return 0, errNoPayload
		}
	}
	return strconv.ParseUint(string(digits), 16, 64)
}

// FindPayload looks for a payload anywhere in value: what an implementation
// stores has its own framing around what it was offered.
func FindPayload(value []byte) (Header, bool) {
	for {
		at := bytes.Index(value, []byte(payloadMagic))
		if at < 0 || len(value)-at < HeaderSize {
			return Header{}, false
		}
		if h, err := parseHeader(value[at:]); err == nil {
			return h, true
		}
		value = value[at+1:]
	}
}

// HoldsPayload reports whether a text has the beginning of a payload in it.
func HoldsPayload(text string) bool { return strings.Contains(text, payloadMagic) }
