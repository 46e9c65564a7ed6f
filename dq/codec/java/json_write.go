package java

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// JSONForm selects one of Redisson's codecs for JSON. The zero value is JsonJacksonCodec.
type JSONForm struct {
	Plain     bool // without classes, as TypedJsonJacksonCodec
	Jackson3  bool // as JsonJackson3Codec and TypedJsonJackson3Codec: dates are texts
	BareUUIDs bool // as JsonJacksonCodec before 4.2.0: no class before a declared UUID
}

// Jackson writes JSON with the type information of Redisson's JsonJacksonCodec, or another form. Reading skips members that a
// struct lacks.
type Jackson[T any] struct{ bound[T] }

// NewJackson returns the codec for T. It fails with a *TypeError. The plain form needs no Class, and takes every type of
// encoding/json.
func NewJackson[T any](form JSONForm, classes ...Class) (Jackson[T], error) {
	name := "json"
	if form.Plain {
		name = "typed-json"
	}
	b, err := bind[T](name, form, classes)
	return Jackson[T]{b}, err
}

func (f JSONForm) encode(g *registry, v reflect.Value, t *typ) ([]byte, error) {
	w := jsonWriter{newWriter(g), f}
	declared := object
	if _, own, _ := w.actual(v, t); own != nil && (own.kind == doubleKind || own.kind == bytesKind || own.kind == longKind && f.Jackson3) {
		declared = own // Jackson never writes the class of these at the top
	}
	w.value(v, t, declared)
	return w.result()
}

type jsonWriter struct {
	writer
	form JSONForm
}

// value writes a value of type t in a place of the declared type. Jackson leaves out the class of a final one, except Long.
func (w *jsonWriter) value(v reflect.Value, t, declared *typ) {
	w.enter()
	defer w.leave()
	if v, t, ok := w.actual(v, t); ok && v.IsValid() {
		w.notNull(v, t, declared)
	} else {
		w.buf = append(w.buf, "null"...)
	}
}

func (w *jsonWriter) notNull(v reflect.Value, t, declared *typ) {
	bare := declared.kind == t.kind && (t.enum == nil || !t.enum.bodies)
	switch t.kind {
	case boolKind:
		w.buf = strconv.AppendBool(w.buf, v.Bool())
	case intKind:
		w.buf = strconv.AppendInt(w.buf, v.Int(), 10)
	case byteKind, shortKind:
		w.wrap(primitives[t.kind].class, bare, strconv.FormatInt(v.Int(), 10))
	case longKind:
		w.wrap(primitives[t.kind].class, bare && (!declared.boxed || w.form.Jackson3), strconv.FormatInt(v.Int(), 10))
	case charKind:
		if utf16.IsSurrogate(rune(v.Uint())) {
			w.refuse(halfPair)
		}
		w.wrap(primitives[t.kind].class, bare, quote(string(rune(v.Uint())), !w.form.Jackson3))
	case floatKind, doubleKind:
		text := number(v.Float(), primitives[t.kind].goType.Bits())
		w.wrap(primitives[t.kind].class, bare || text[0] != '"' && t.kind == doubleKind, text)
	case stringKind:
		w.buf = append(w.buf, quote(v.String(), !w.form.Jackson3)...)
	case bytesKind:
		w.wrap(bytesClass, bare, `"`+base64.StdEncoding.EncodeToString(v.Bytes())+`"`)
	case enumKind:
		w.ordinal(t, v)
		w.wrap(t.class, bare, quote(v.String(), true))
	case listKind, arrayKind:
		w.elements(v, t)
	case mapKind:
		w.mapping(v, t)
	case objectKind:
		w.object(v, t, bare && t.object.final)
	case optionalKind:
		w.refuse("got a java.util.Optional, which needs a module of Jackson")
	case jsonKind:
		w.own(v)
	default:
		w.scalar(v, t.scalar, bare && declared.scalar == t.scalar)
	}
}

// own writes the JSON of a Go type that has no Java type.
func (w *jsonWriter) own(v reflect.Value) {
	pointer := reflect.New(v.Type()) // for methods of the pointer
	pointer.Elem().Set(v)
	data, err := json.Marshal(pointer.Interface())
	if err != nil {
		w.refuse("%v", err)
	}
	w.buf = append(w.buf, data...)
}

// wrap writes JSON after its class, unless bare.
func (w *jsonWriter) wrap(class string, bare bool, text string) {
	end := w.open(class, bare)
	w.buf = append(append(w.buf, text...), end...)
}

// open writes the class before a value, and returns what ends the value.
func (w *jsonWriter) open(class string, bare bool) (end string) {
	if bare || w.form.Plain {
		return ""
	}
	w.buf = append(append(append(w.buf, '['), quote(class, true)...), ',')
	return "]"
}

// isBare reports whether a list or an array has no class before it.
func (f JSONForm) isBare(t *typ) bool {
	return f.Plain || t.kind == arrayKind && t.elem.isFinal() && (t.elem.kind != longKind || !t.elem.boxed || f.Jackson3)
}

func (w *jsonWriter) elements(v reflect.Value, t *typ) {
	end := w.open(t.value, w.form.isBare(t))
	own := *t.elem
	own.boxed = own.boxed || t.kind == listKind // a List<Long> of int64
	w.buf = append(w.buf, '[')
	for i := range v.Len() {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.value(v.Index(i), t.elem, &own)
	}
	w.buf = append(append(w.buf, ']'), end...)
}

// member writes a member of an object. Null is left out, except in the form of TypedJsonJackson3Codec.
func (w *jsonWriter) member(name string, v reflect.Value, t, declared *typ) {
	if inner, _, ok := w.actual(v, t); ok && (inner.IsValid() || w.form.Plain && w.form.Jackson3) {
		w.name(name)
		w.value(v, t, declared)
	}
}

func (w *jsonWriter) name(name string) {
	if w.buf[len(w.buf)-1] != '{' {
		w.buf = append(w.buf, ',')
	}
	w.buf = append(append(w.buf, quote(name, !w.form.Jackson3)...), ':')
}

func (w *jsonWriter) class(name string, bare bool) {
	if w.buf = append(w.buf, '{'); !bare && !w.form.Plain {
		w.name("@class")
		w.buf = append(w.buf, quote(name, true)...)
	}
}

func (w *jsonWriter) mapping(v reflect.Value, t *typ) {
	keys, err := inOrder(v, t)
	if err != nil {
		w.refuse("%v", err)
	}
	elem := *t.elem
	elem.boxed = true
	w.class(t.value, false)
	for _, key := range keys {
		name, isText := keyText(key)
		w.checkText(name)
		switch {
		case !isText:
			w.refuse("got a map with other keys than texts, integers, UUIDs and constants of an enum")
		case name == "@class" && !w.form.Plain:
			w.refuse("got a map with the key \"@class\", which Java takes for a class")
		}
		w.member(name, v.MapIndex(key), t.elem, &elem)
	}
	w.buf = append(w.buf, '}')
}

func keyText(key reflect.Value) (string, bool) {
	if key.Kind() == reflect.Interface {
		key = key.Elem()
	}
	if !key.IsValid() {
		return "", false
	}
	if id, is := key.Interface().(fmt.Stringer); is && key.Kind() == reflect.Array {
		return id.String(), true
	}
	return fmt.Sprint(key), key.Kind() == reflect.String || key.CanInt() && scalarOfGo[key.Type()] == nil
}

func (w *jsonWriter) object(v reflect.Value, t *typ, bare bool) {
	w.class(t.class, bare)
	for i, f := range t.object.fields {
		if i > 0 && f.name == t.object.fields[i-1].name {
			continue // of a super class
		}
		if part := v.FieldByIndex(f.index); !f.omit(part) {
			w.member(f.name, part, f.typ, f.typ)
		}
	}
	w.buf = append(w.buf, '}')
}

// isoDate is how Jackson 3 writes a java.util.Date.
const isoDate = "2006-01-02T15:04:05.000Z07:00"

const firstYear = 1583 // earlier dates of java.util.Date are Julian

func (w *jsonWriter) scalar(v reflect.Value, s *scalar, bare bool) {
	switch value := v.Interface().(type) {
	case Date:
		text := strconv.FormatInt(int64(value), 10)
		if w.form.Jackson3 {
			text = strconv.Quote(value.Time().Format(isoDate))
			if year := value.Time().Year(); year < firstYear || year > 9999 {
				w.refuse("got the java.util.Date %s; Jackson 3 reads it from %d to 9999 only", text, firstYear)
			}
		}
		w.wrap(s.class, false, text)
	case Decimal:
		unscaled, scale, err := value.parts()
		if err != nil || scale > 9999 || scale < -9999 {
			w.refuse("expected a java.math.BigDecimal of at most 9,999 digits after the point, got %.40q", string(value))
			return
		}
		text := plainText(unscaled, int(scale))
		if w.form.Jackson3 {
			text = string(decimalOf(unscaled, scale))
		}
		w.number(s.class, text)
	case big.Int:
		if value.BitLen() > 8*maxNumber {
			w.refuse("expected a number of at most %d digits, got %d bits", maxDigits, value.BitLen())
			return
		}
		w.number(s.class, value.String())
	default:
		if s.class != uuidClass {
			w.refuse("got a %s, whose JSON depends on the release and on Jackson's modules; use a string or a number in both services", s.class)
			return
		}
		var id UUID
		reflect.Copy(reflect.ValueOf(&id).Elem(), v)
		w.wrap(s.class, bare && w.form.BareUUIDs, strconv.Quote(id.String()))
	}
}

// number writes a number of any size, as far as Jackson reads it.
func (w *jsonWriter) number(class, text string) {
	if len(text) > maxDigits {
		w.refuse("expected a number of at most %d digits, got %d", maxDigits, len(text))
	}
	w.wrap(class, false, text)
}

// quote writes a text as Jackson does: escapes have capital digits, and Jackson 2 escapes pairs of UTF-16 units.
func quote(s string, pairs bool) string {
	const short = "btn fr" // of the characters 8 to 13
	dst := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= 8 && r <= 13 && r != 11:
			dst = append(dst, '\\', short[r-8])
		case r < 0x20:
			dst = fmt.Appendf(dst, `\u%04X`, r)
		case r > 0xffff && pairs:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04X\u%04X`, high, low)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return string(append(dst, '"'))
}
