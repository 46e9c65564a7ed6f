package codec

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
)

// Show returns a value as JSON for people to read, whatever codec wrote it, as far as its
// bytes tell: objects of any class with their fields by name and "@class", and scalars of
// Java as text. It answers false for objects of Kryo5, whose bytes name no fields, for
// bytes that nothing here reads, and for a value that references multiply beyond bounds.
func Show(data []byte) (text string, ok bool) {
	return ShowAs(Detect(data).Likeliest(), data)
}

// ShowAs is Show for a value that a codec is known to have written.
func ShowAs(codec Name, data []byte) (text string, ok bool) {
	name, data, err := unpacked(codec, data)
	if err != nil {
		return "", false
	}
	f, known := formats[name]
	switch {
	case name.typed() || name == NameTypedJSON || name == NameTypedJSON3:
		return string(data), true
	case !known:
		quoted, err := json.Marshal(string(data))
		return string(quoted), err == nil && name == NameString
	}
	g := emptyRegistry(name, nil)
	g.keepsRecords = true
	value, err := f.decode(data, g, nil)
	if err != nil {
		return "", false
	}
	s := shower{budget: maxShared + len(data)}
	s.value(value)
	return string(s.out), s.budget >= 0
}

// shower writes values as JSON; budget is as converter has it.
type shower struct {
	out    []byte
	budget int
}

func (s *shower) value(value any) {
	if s.budget--; s.budget < 0 {
		return
	}
	switch value := value.(type) {
	case nil:
		s.out = append(s.out, "null"...)
	case bool:
		s.out = strconv.AppendBool(s.out, value)
	case int8, int16, int32, int64:
		s.out = fmt.Append(s.out, value)
	case *big.Int:
		s.out = value.Append(s.out, 10)
	case float32:
		s.float(float64(value), 32)
	case float64:
		s.float(value, 64)
	case []any:
		s.list(value)
	case *elements:
		s.list(value.all)
	case *dictionary:
		s.mapping(value)
	case *record:
		s.record(value)
	case optional:
		s.value(value.value)
	default:
		s.text(shownText(value))
	}
}

// shownText returns the text of a value that JSON has no form for.
func shownText(value any) string {
	switch value := value.(type) {
	case uint16:
		return string(rune(value))
	case []byte:
		return fmt.Sprintf("%x", value)
	case constant:
		return value.name
	case Period:
		return fmt.Sprintf("P%dY%dM%dD", value.Years, value.Months, value.Days)
	case Timestamp:
		return value.Time().Format(time.RFC3339Nano)
	case Date:
		return value.Time().Format(time.RFC3339Nano)
	case time.Time:
		return value.Format(time.RFC3339Nano)
	case OffsetDateTime:
		return value.Local.String() + offsetID(value.Offset)
	case ZonedDateTime:
		return value.Local.String() + offsetID(value.Offset) + "[" + value.Zone + "]"
	case foreign:
		return "a " + value.class
	}
	return fmt.Sprint(value)
}

func (s *shower) text(text string) {
	quoted, err := json.Marshal(text)
	if err == nil {
		s.out = append(s.out, quoted...)
	}
}

func (s *shower) float(f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		s.text(javaDouble(f))
		return
	}
	s.out = strconv.AppendFloat(s.out, f, 'g', -1, bits)
}

func (s *shower) list(all []any) {
	s.out = append(s.out, '[')
	for i, element := range all {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		s.value(element)
	}
	s.out = append(s.out, ']')
}

func (s *shower) mapping(d *dictionary) {
	s.out = append(s.out, '{')
	for i, key := range d.keys {
		name, isText := key.(string)
		if !isText {
			name = shownText(key)
		}
		s.member(name, d.values[i])
	}
	s.out = append(s.out, '}')
}

func (s *shower) record(r *record) {
	s.out = append(s.out, '{')
	s.member(classKey, r.chain[0].name)
	r.each(func(_ int, name string, value any) { s.member(name, value) })
	s.out = append(s.out, '}')
}

func (s *shower) member(name string, value any) {
	if s.out[len(s.out)-1] != '{' {
		s.out = append(s.out, ',')
	}
	s.text(name)
	s.out = append(s.out, ':')
	s.value(value)
}
