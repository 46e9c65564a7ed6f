package load

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Every value says which message it is and when it is due, so that whoever takes
// it can account for it. It is ASCII, the same for every driver and language:
//
//	dqb1|<run id>|<producer>|<seq>|<due>|<phase>|.....
//
// run id is 8 hex digits, producer 4, seq 8, due 16 (Unix time in ns), all lower
// case; phase is w for warm-up or m for measured. Dots fill up the payload size.

// HeaderSize is the length of a payload without the filling.
const HeaderSize = len("dqb1|01234567|0123|01234567|0123456789abcdef|m|")

const payloadMagic = "dqb1|"

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

var errNoPayload = errors.New("expected a payload dqb1|run id|producer|seq|due|phase|")

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
	for len(b) < size {
		b = append(b, '.')
	}
	return b
}

func appendHex(b []byte, v uint64, digits int) []byte {
	const hex = "0123456789abcdef"
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, hex[v>>shift&15])
	}
	return append(b, '|')
}

// ParsePayload reads a value. Whatever is no payload of dq-bench is an error.
func ParsePayload(value []byte) (Header, error) {
	if len(value) < HeaderSize || !bytes.HasPrefix(value, []byte(payloadMagic)) || value[HeaderSize-1] != '|' {
		return Header{}, fmt.Errorf("%w, got %d bytes", errNoPayload, len(value))
	}
	for _, c := range value[HeaderSize:] {
		if c != '.' {
			return Header{}, fmt.Errorf("%w with dots to its end, got %q", errNoPayload, c)
		}
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
	if (phase != Warmup && phase != Measured) || fields[3] > math.MaxInt64 {
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
