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
	r := &jsonReader{reader: reader{problem: problem{codec: g.codec}}, registry: g, form: f}
	tree := r.value(r.parse(data), t)
	return tree, r.err
}

// parse reads one JSON document.
func (r *jsonReader) parse(data []byte) (document any) {
	if bytes.Contains(data, []byte(`\u`)) && slices.ContainsFunc(escapes.FindAllSubmatch(data, -1), func(found [][]byte) bool { return found[1] != nil }) {
		r.refuse(halfPair)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if !utf8.Valid(data) {
		r.fail("expected JSON in UTF-8, got other bytes")
		return nil
	}
	if err := decoder.Decode(&document); err != nil && r.err == nil {
		isCut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		r.err = &FormatError{r.codec, int(decoder.InputOffset()), isCut, fmt.Sprintf("expected JSON, got %.40q: %v", data, err)}
	}
	_, err := decoder.Token()
	r.at = int(decoder.InputOffset())
	if err != io.EOF {
		r.fail("expected the end of the JSON document")
	}
	// Java takes the first of two classes, encoding/json the last.
	if !r.form.Plain && bytes.Count(data, []byte(`"@class"`)) > bytes.Count(data, []byte(`{"@class":"`)) {
		r.fail("expected \"@class\" only as the first member of an object")
	}
	return document
}

// escapes finds escapes, and in its group half of a surrogate pair, for which encoding/json has no text.
var escapes = regexp.MustCompile(`\\[^u]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD]([89a-fA-F])`)

// jsonReader turns a document into a tree, guided by the classes in it and the declared types.
type jsonReader struct {
	reader
	registry *registry
	form     JSONForm
}

func (r *jsonReader) value(document any, t *typ) any {
	if !r.enter() {
		return nil
	}
	defer func() { r.depth-- }()
	if t.kind == jsonKind && document != nil {
		data, _ := json.Marshal(document) // which was JSON
		return json.RawMessage(data)
	}
	switch document := document.(type) {
	case json.Number:
		return r.number(document.String(), t)
	case string:
		return r.text(document, t)
	case map[string]any:
		return r.object(document, t)
	case []any:
		if !r.form.isBare(t) {
			return r.wrapped(document, t)
		}
		return r.elements(t.value, document, t)
	}
	return document // null and booleans
}

func (r *jsonReader) elements(class string, all []any, t *typ) any {
	values := make([]any, len(all))
	for i, element := range all {
		values[i] = r.value(element, cmp.Or(t.elem, object))
	}
	return list{class, values}
}

// wrapped reads [class, value].
func (r *jsonReader) wrapped(pair []any, t *typ) any {
	if len(pair) != 2 {
		r.refuse("expected an array of a class and a value, got %d elements", len(pair))
		return nil
	}
	class, _ := pair[0].(string)
	own := r.registry.byName[class]
	if own == nil || own.kind != enumKind {
		own = wrappedTypes[class]
	}
	switch value := pair[1].(type) {
	case []any:
		if t.kind == arrayKind && class == t.class || t.kind != arrayKind && listClass.MatchString(class) && class != "java.util.BitSet" {
			return r.elements(class, value, t)
		}
	case string:
		if own != nil {
			return r.text(value, own)
		}
	case json.Number:
		if own != nil {
			return r.number(value.String(), own)
		}
	}
	r.err = &ClassError{r.codec, class}
	return nil
}

// wrappedTypes are the classes of the JDK that can precede a value.
var wrappedTypes = func() map[string]*typ {
	all := map[string]*typ{bytesClass: {kind: bytesKind}}
	for k := boolKind; k <= doubleKind; k++ {
		all[primitives[k].class] = &typ{kind: k}
	}
	for _, class := range []string{"java.util.Date", "java.math.BigDecimal", "java.math.BigInteger", uuidClass} {
		all[class] = &typ{kind: scalarKind, class: class, scalar: scalarOfClass[class]}
	}
	return all
}()

// number reads a number of the declared type. If an any is declared, an integer is an int32, or an int64 if it is too large.
func (r *jsonReader) number(n string, t *typ) (value any) {
	if len(n) > maxDigits {
		r.refuse("expected a number of at most %d digits, got %d", maxDigits, len(n))
		return nil
	}
	isAny, isFraction := t.kind == anyKind, strings.ContainsAny(n, ".eE")
	switch {
	case t.class == "java.math.BigDecimal":
		unscaled, scale, err := Decimal(n).parts()
		if err != nil {
			r.refuse("%v", err)
			return nil
		}
		return decimalOf(unscaled, scale)
	case t.class == "java.math.BigInteger", isAny && r.form.Plain && !isFraction && len(n) > 18:
		whole, is := new(big.Int).SetString(n, 10)
		if !is {
			r.refuse("expected an integer, got %.40s", n)
		} else if isAny && whole.IsInt64() {
			return whole.Int64()
		}
		return whole
	case t.kind == floatKind:
		f, err := strconv.ParseFloat(n, 32)
		if err != nil {
			r.refuse("expected a float, got %.40s", n)
		}
		return float32(f)
	case t.kind == doubleKind, isAny && isFraction:
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			r.refuse("expected a double, got %.40s", n)
		}
		return f
	}
	integer, isInteger := primitives[t.kind].goType, t.kind == byteKind || t.kind == shortKind || t.kind == intKind || t.kind == longKind
	bits := 64
	if isInteger {
		bits = integer.Bits()
	}
	i, err := strconv.ParseInt(n, 10, bits)
	switch {
	case err != nil:
		r.refuse("expected an integer of %d bits, got %.40s", bits, n)
	case t.class == "java.util.Date" && !r.form.Jackson3:
		return Date(i)
	case isInteger:
		return reflect.ValueOf(i).Convert(integer).Interface()
	case int64(int32(i)) == i:
		return int32(i)
	}
	return i
}

func (r *jsonReader) text(s string, t *typ) any {
	isSpecial := s == "NaN" || s == "Infinity" || s == "-Infinity"
	switch {
	case isSpecial && (t.kind == doubleKind || t.kind == floatKind):
		f, _ := strconv.ParseFloat(s, 64)
		return reflect.ValueOf(f).Convert(primitives[t.kind].goType).Interface()
	case t.kind == bytesKind:
		data, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			r.refuse("expected base64, got %.40q: %v", s, err)
		}
		return data
	case t.kind == charKind:
		if units := utf16.Encode([]rune(s)); len(units) == 1 {
			return units[0]
		}
		r.refuse("expected one character, got %.40q", s)
	case t.kind == enumKind:
		return constant{t.class, s}
	case t.class == uuidClass:
		id, err := ParseUUID(s)
		if err != nil {
			r.refuse("%v", err)
		}
		return id
	case t.class == "java.util.Date" && r.form.Jackson3:
		at, err := time.Parse(time.RFC3339, s)
		if err != nil || at.Year() < firstYear {
			r.refuse("expected a java.util.Date from %d on, got %.40q", firstYear, s)
		}
		return DateOf(at)
	case t.class == "java.math.BigDecimal", t.class == "java.math.BigInteger":
		return r.number(s, t)
	case t.kind == scalarKind, t.kind != stringKind && t.kind != anyKind:
		r.refuse("expected a %s, got the text %.40q", t.name(), s)
	}
	return s
}

// mapClass and listClass find the classes of java.util that are maps and collections, such as java.util.EnumSet<demo.State>.
var mapClass, listClass = regexp.MustCompile(`^java\.util\.(\w+[.$])*(\w*Map[1N]?|Hashtable|Properties|Attributes|Partition|\w*MapView)(<.*>)?$`),
	regexp.MustCompile(`^java\.util\.(\w+[.$])*(\w*(List|Set)(12|N)?|\w*(Queue|Deque|Vector|Stack|Collection|Values|View|Rand|SetFromMap)|(AbstractMap|MapN)\$\d)(<.*>)?$`)

// object reads an object or a map. Its class is in the document, or declared.
func (r *jsonReader) object(members map[string]any, t *typ) any {
	class := "java.util.LinkedHashMap"
	own := t
	if t.kind == objectKind && (r.form.Plain || t.object.final) {
		class = t.class
	} else if !r.form.Plain {
		name, is := members["@class"].(string)
		if !is {
			r.refuse("expected an object with the member \"@class\", got none")
			return nil
		}
		delete(members, "@class")
		if class = name; own.kind != objectKind || own.class != name {
			own = r.registry.byName[name]
		}
	}
	names := slices.Sorted(maps.Keys(members))
	if mapClass.MatchString(class) {
		return r.mapping(class, names, members, t)
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
		o.fields = append(o.fields, member{class, name, r.value(members[name], declared)})
		if r.err != nil {
			r.err = fmt.Errorf("field %s of %s: %w", name, class, r.err)
			return nil
		}
	}
	if len(o.fields) == 0 && len(names) > 0 && own != nil {
		r.refuse("the value holds a %s with the members %.200q, but %v has other fields; give it json tags", class, names, own.goType)
	}
	return o
}

func (r *jsonReader) mapping(class string, names []string, members map[string]any, t *typ) any {
	d := dictionary{class: class}
	key, elem := t.parts(mapKind)
	key, elem = cmp.Or(key, object), cmp.Or(elem, object)
	for _, name := range names {
		var k any = name
		switch key.kind {
		case byteKind, shortKind, intKind, longKind:
			k = r.number(name, key)
		case enumKind, scalarKind:
			k = r.text(name, key)
		}
		d.all = append(d.all, k, r.value(members[name], elem))
	}
	return d
}
