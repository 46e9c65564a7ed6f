package java

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

func (f JSONForm) decode(g *registry, data []byte, t *typ) (any, error) {
	r := jsonReader{g, f}
	document, err := r.parse(data)
	if err != nil {
		return nil, err
	}
	return r.value(document, t, 0)
}

// parse reads one JSON document.
func (r jsonReader) parse(data []byte) (document any, err error) {
	if bytes.Contains(data, []byte(`\u`)) {
		var ok bool
		if data, ok = halves(data, r.form.Plain); !ok {
			return nil, r.refuse(halfPair)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	fail := func(truncated bool, format string, args ...any) (any, error) {
		return nil, &FormatError{r.registry.codec, int(decoder.InputOffset()), truncated, fmt.Sprintf(format, args...)}
	}
	if !utf8.Valid(data) {
		return fail(false, "expected JSON in UTF-8, got other bytes")
	}
	if err := decoder.Decode(&document); err != nil {
		return fail(errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), "expected JSON, got %.40q: %v", data, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fail(false, "expected the end of the JSON document")
	}
	// Java takes the first of two classes, encoding/json the last.
	if !r.form.Plain && bytes.Count(data, []byte(`"@class"`)) > bytes.Count(data, []byte(`{"@class":"`)) {
		return fail(false, "expected \"@class\" only as the first member of an object")
	}
	return document, nil
}

// half precedes the digits of a char that is half of a surrogate pair. It is a noncharacter.
const half = "\ufdd0"

var escapes = regexp.MustCompile(`\\[^u]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|"\\u([dD][89a-fA-F]..)"(\s*:)?|\\u[dD][89a-fA-F]..`)

// halves marks each such char, for which encoding/json has no text. It fails for one within a text.
func halves(data []byte, plain bool) (marked []byte, ok bool) {
	ok = true
	return escapes.ReplaceAllFunc(data, func(found []byte) []byte {
		parts := escapes.FindSubmatch(found)
		switch {
		case found[0] == '\\' && (found[1] != 'u' || len(found) > 6):
			return found
		case plain || parts[1] == nil || parts[2] != nil:
			ok = false
			return found
		}
		return fmt.Appendf(nil, `"%s%s"`, half, parts[1])
	}), ok
}

// jsonReader turns a document into a tree, guided by the classes in it and the declared types.
type jsonReader struct {
	registry *registry
	form     JSONForm
}

func (r jsonReader) refuse(format string, args ...any) error {
	return &ValueError{r.registry.codec, fmt.Sprintf(format, args...)}
}

func (r jsonReader) value(document any, t *typ, depth int) (any, error) {
	if depth > maxDepth {
		return nil, r.refuse("values nested deeper than %d", maxDepth)
	}
	if t.kind == jsonKind && document != nil {
		data, err := json.Marshal(document)
		return json.RawMessage(data), err
	}
	switch document := document.(type) {
	case json.Number:
		return r.number(document.String(), t)
	case string:
		return r.text(document, t)
	case map[string]any:
		return r.object(document, t, depth)
	case []any:
		isBare := t.kind == arrayKind && t.elem.isFinal() && (t.elem.kind != longKind || !t.elem.boxed || r.form.Jackson3)
		if !r.form.Plain && !isBare {
			return r.wrapped(document, t, depth)
		}
		class := t.value
		if t.kind == arrayKind {
			class = t.class
		}
		return r.elements(class, document, t, depth)
	}
	return document, nil // null and booleans
}

func (r jsonReader) elements(class string, all []any, t *typ, depth int) (any, error) {
	elem := object
	if t.elem != nil {
		elem = t.elem
	}
	values := make([]any, len(all))
	for i, element := range all {
		var err error
		if values[i], err = r.value(element, elem, depth+1); err != nil {
			return nil, err
		}
	}
	return list{class, values}, nil
}

// wrapped reads [class, value].
func (r jsonReader) wrapped(pair []any, t *typ, depth int) (any, error) {
	if len(pair) != 2 {
		return nil, r.refuse("expected an array of a class and a value, got %d elements", len(pair))
	}
	class, _ := pair[0].(string)
	if all, is := pair[1].([]any); is {
		if t.kind != arrayKind && !strings.HasPrefix(class, "java.util.") || t.kind == arrayKind && class != t.class {
			return nil, &ClassError{r.registry.codec, class}
		}
		return r.elements(class, all, t, depth)
	}
	own := r.registry.byName[class]
	if own == nil || own.kind != enumKind {
		own = wrappedTypes[class]
	}
	_, isText := pair[1].(string)
	if _, isNumber := pair[1].(json.Number); own == nil || !isText && !isNumber {
		return nil, &ClassError{r.registry.codec, class}
	}
	return r.value(pair[1], own, depth)
}

// wrappedTypes are the classes of the JDK that can precede a value.
var wrappedTypes = func() map[string]*typ {
	all := map[string]*typ{bytesClass: {kind: bytesKind}}
	for k, b := range boxes {
		all[b.class] = &typ{kind: k}
	}
	for _, class := range []string{"java.util.Date", "java.math.BigDecimal", "java.math.BigInteger", uuidClass} {
		all[class] = &typ{kind: scalarKind, class: class, scalar: scalarOfClass[class]}
	}
	return all
}()

// number reads a number of the declared type. If an any is declared, an integer is an int32, or an int64 if it is too large.
func (r jsonReader) number(n string, t *typ) (value any, err error) {
	if len(n) > maxDigits {
		return nil, r.refuse("expected a number of at most %d digits, got %d", maxDigits, len(n))
	}
	isAny, isFraction := t.kind == anyKind, strings.ContainsAny(n, ".eE")
	switch {
	case t.class == "java.math.BigDecimal":
		unscaled, scale, err := Decimal(n).parts()
		if err != nil {
			return nil, r.refuse("%v", err)
		}
		return decimalOf(unscaled, scale), nil
	case t.class == "java.math.BigInteger", isAny && r.form.Plain && !isFraction && len(n) > 18:
		whole, is := new(big.Int).SetString(n, 10)
		if !is {
			return nil, r.refuse("expected an integer, got %.40s", n)
		}
		if whole.IsInt64() && isAny {
			return whole.Int64(), nil
		}
		return whole, nil
	case t.kind == floatKind:
		f, err := strconv.ParseFloat(n, 32)
		if err != nil {
			return nil, r.refuse("expected a float, got %.40s", n)
		}
		return float32(f), nil
	case t.kind == doubleKind, isAny && isFraction:
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return nil, r.refuse("expected a double, got %.40s", n)
		}
		return f, nil
	}
	bits := cmp.Or(map[kind]int{byteKind: 8, shortKind: 16, intKind: 32}[t.kind], 64)
	i, err := strconv.ParseInt(n, 10, bits)
	switch integer := primitiveTypes[t.kind]; {
	case err != nil:
		return nil, r.refuse("expected an integer of %d bits, got %.40s", bits, n)
	case t.class == "java.util.Date" && !r.form.Jackson3:
		return Date(i), nil
	case integer != nil && reflect.Zero(integer).CanInt():
		return reflect.ValueOf(i).Convert(integer).Interface(), nil
	case int64(int32(i)) != i:
		return i, nil
	}
	return int32(i), nil
}

func (r jsonReader) text(s string, t *typ) (any, error) {
	isSpecial := s == "NaN" || s == "Infinity" || s == "-Infinity"
	switch {
	case isSpecial && (t.kind == doubleKind || t.kind == floatKind):
		f, err := strconv.ParseFloat(s, 64)
		return reflect.ValueOf(f).Convert(primitiveTypes[t.kind]).Interface(), err
	case t.kind == bytesKind:
		data, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, r.refuse("expected base64, got %.40q: %v", s, err)
		}
		return data, nil
	case strings.HasPrefix(s, half) && len(s) == len(half)+4:
		unit, err := strconv.ParseUint(s[len(half):], 16, 16)
		if t.kind != charKind || err != nil {
			return nil, r.refuse(halfPair)
		}
		return uint16(unit), nil
	case t.kind == charKind:
		if units := utf16.Encode([]rune(s)); len(units) == 1 {
			return units[0], nil
		}
		return nil, r.refuse("expected one character, got %.40q", s)
	case t.kind == enumKind:
		return constant{t.class, s}, nil
	case t.class == uuidClass:
		id, err := ParseUUID(s)
		if err != nil {
			return nil, r.refuse("%v", err)
		}
		return id, nil
	case t.class == "java.util.Date" && r.form.Jackson3:
		at, err := time.Parse(time.RFC3339, s)
		if err != nil || at.Year() < firstYear {
			return nil, r.refuse("expected a java.util.Date from %d on, got %.40q", firstYear, s)
		}
		return DateOf(at), nil
	case t.class == "java.math.BigDecimal", t.class == "java.math.BigInteger":
		return r.number(s, t)
	case t.kind == scalarKind, t.kind != stringKind && t.kind != anyKind:
		return nil, r.refuse("expected a %s, got the text %.40q", t.name(), s)
	}
	return s, nil
}

// object reads an object or a map. Its class is in the document, or declared.
func (r jsonReader) object(members map[string]any, t *typ, depth int) (any, error) {
	class := "java.util.LinkedHashMap"
	own := t
	if t.kind == objectKind && (r.form.Plain || t.object.final) {
		class = t.class
	} else if !r.form.Plain {
		name, is := members["@class"].(string)
		if !is {
			return nil, r.refuse("expected an object with the member \"@class\", got none")
		}
		if class = name; own.kind != objectKind || own.class != name {
			own = r.registry.byName[name]
		}
	}
	names := slices.Sorted(maps.Keys(members))
	if !r.form.Plain {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "@class" })
	}
	if strings.HasPrefix(class, "java.util.") {
		return r.mapping(class, names, members, t, depth)
	}
	o := &record{class: class}
	for _, name := range names {
		declared := object
		if own != nil && own.kind == objectKind {
			at := slices.IndexFunc(own.object.fields, func(f field) bool { return f.name == name })
			if at < 0 {
				continue
			}
			declared = own.object.fields[at].typ
		}
		value, err := r.value(members[name], declared, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", name, class, err)
		}
		o.fields = append(o.fields, member{class, name, value})
	}
	if len(o.fields) == 0 && len(names) > 0 && own != nil {
		return nil, r.refuse("the value holds a %s with the members %.200q, but %v has other fields; give it json tags", class, names, own.goType)
	}
	return o, nil
}

func (r jsonReader) mapping(class string, names []string, members map[string]any, t *typ, depth int) (any, error) {
	d := dictionary{class: class}
	key, elem := object, object
	if t.kind == mapKind {
		key, elem = t.key, t.elem
	}
	for _, name := range names {
		var k any = name
		var err error
		switch key.kind {
		case byteKind, shortKind, intKind, longKind:
			k, err = r.number(name, key)
		case enumKind, scalarKind:
			k, err = r.text(name, key)
		}
		value, valueErr := r.value(members[name], elem, depth+1)
		if err != nil || valueErr != nil {
			return nil, errors.Join(err, valueErr)
		}
		d.all = append(d.all, k, value)
	}
	return d, nil
}
