package java

import (
	"encoding/binary"
	"math/big"
	"reflect"
	"strings"
	"time"
)

func (w *kryoWriter) scalar(v reflect.Value, s *scalar) {
	le := binary.LittleEndian
	if s.layout != "" {
		m, err := parseMoment(v.String(), s.layout)
		if err != nil {
			w.refuse("a %s: %v", s.class, err)
		}
		w.moment(m, s.layout)
		return
	}
	switch value := v.Interface().(type) {
	case Date:
		w.varlong(uint64(value))
	case Timestamp:
		w.varlong(uint64(value.UnixMilli()))
		if !time.UnixMilli(value.UnixMilli()).Equal(value.Time) {
			w.refuse("got a java.sql.Timestamp finer than milliseconds, which Kryo5Codec does not keep, or far away; truncate it")
		}
	case big.Int:
		w.bigNumber(&value)
	case Decimal:
		unscaled, scale, err := value.parts()
		if err != nil {
			w.refuse("%v", err)
			return
		}
		w.bigNumber(unscaled)
		w.zigzag(scale)
	case time.Time:
		if _, err := instantOf(value.Unix(), int64(value.Nanosecond())); err != nil {
			w.refuse("got %v", err)
		}
		w.varlong(uint64(value.Unix()))
		w.varint(uint64(value.Nanosecond()))
	case time.Duration:
		seconds, nanos := durationParts(value)
		w.buf = le.AppendUint64(w.buf, uint64(seconds))
		w.varint(uint64(nanos))
	case URI, Currency, Locale:
		if problem := textProblem(s, v.String()); problem != "" {
			w.refuse("got the %s %.60q, which Java does not read back: %s", s.class, v.String(), problem)
		}
		if s.class != "java.util.Locale" {
			w.text(v.String())
			return
		}
		parts := append(strings.SplitN(v.String(), "_", 3), "", "")
		for _, part := range parts[:3] {
			w.text(part)
		}
	default: // a UUID or another array of 16 bytes
		var id UUID
		reflect.Copy(reflect.ValueOf(&id).Elem(), v)
		w.buf = le.AppendUint64(w.buf, binary.BigEndian.Uint64(id[:8]))
		w.buf = le.AppendUint64(w.buf, binary.BigEndian.Uint64(id[8:]))
	}
}

func (w *kryoWriter) moment(m moment, layout string) {
	for _, part := range layout {
		switch part {
		case 'd':
			w.varint(uint64(uint32(m.year)))
			w.buf = append(w.buf, byte(m.month), byte(m.day))
		case 'y':
			w.varint(uint64(uint32(m.year)))
		case 'm':
			w.buf = append(w.buf, byte(m.month))
		case 'a':
			w.buf = append(w.buf, byte(m.day))
		case 'p':
			for _, n := range []int32{m.year, m.month, m.day} {
				w.varint(uint64(uint32(n)))
			}
		case 't':
			if w.buf = m.appendTime(w.buf); m.nano != 0 {
				w.varint(uint64(m.nano))
			}
		case 'o':
			if !strings.HasSuffix(layout, "z") {
				w.buf = m.appendOffset(w.buf, binary.LittleEndian.AppendUint32)
			}
		case 'z':
			w.text(m.zone)
			if at := m; at.inZone() != nil {
				w.refuse("got a java.time.ZonedDateTime: %v", at.inZone())
			} else if at.offset != m.offset {
				w.refuse("got a java.time.ZonedDateTime with another offset than its zone %s gives, which Kryo5Codec does not keep", m.zone)
			}
		}
	}
}

// appendTime writes a LocalTime without its nanoseconds: the last part that is not zero is marked.
func (m moment) appendTime(dst []byte) []byte {
	switch hour, minute, second := byte(m.hour), byte(m.minute), byte(m.second); {
	case m.nano != 0:
		return append(dst, hour, minute, second)
	case second != 0:
		return append(dst, hour, minute, ^second)
	case minute != 0:
		return append(dst, hour, ^minute)
	default:
		return append(dst, ^hour)
	}
}

// appendOffset writes an offset in quarters of an hour, or in seconds.
func (m moment) appendOffset(dst []byte, seconds func([]byte, uint32) []byte) []byte {
	if m.offset%900 == 0 {
		return append(dst, byte(m.offset/900))
	}
	return seconds(append(dst, 127), uint32(m.offset))
}

func (w *kryoWriter) bigNumber(n *big.Int) {
	data := integerBytes(n)
	w.varint(uint64(len(data)) + 1)
	w.buf = append(w.buf, data...)
}
