package codec

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (f jsonFormat) decode(data []byte, g *registry, declared *javaType) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	d := jsonDecoder{codec: f.codec, registry: g}
	var document any
	if g.isExact() && (hasLoneEscape(data) || !utf8.Valid(data)) {
		return nil, d.errorf("the value holds " + loneSurrogate)
	}
	if g.isExact() || g.keepsOrder || d.mayRepeatClass(data) {
		var err error
		if document, d.order, err = parseOrdered(data, d.once); err != nil {
			return nil, &FormatError{Codec: f.codec, Offset: 0, Truncated: endsEarly(err), Problem: fmt.Sprintf("expected JSON, got %.40q: %v", data, err)}
		}
		if !g.isExact() && !g.keepsOrder {
			d.order = nil
		}
		return d.value(document, declared, 0)
	}
	if err := decoder.Decode(&document); err != nil {
		return nil, &FormatError{Codec: f.codec, Offset: int(decoder.InputOffset()), Truncated: endsEarly(err), Problem: fmt.Sprintf("expected JSON, got %.40q: %v", data, err)}
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, &FormatError{Codec: f.codec, Offset: int(decoder.InputOffset()), Problem: "expected nothing after the JSON document"}
	}
	return d.value(document, declared, 0)
}

// once reports whether a key may come only once in an object. Of two classes Java takes the first, and the second for a
// key of the map, or for an unknown member.
func (d jsonDecoder) once(key string) bool {
	return d.registry.isExact() || d.codec.typed() && key == classKey
}

// mayRepeatClass reports whether an object could name its class twice, which encoding/json does not tell.
func (d jsonDecoder) mayRepeatClass(data []byte) bool {
	if !d.codec.typed() {
		return false
	}
	return bytes.Count(data, []byte(`"@class"`)) > bytes.Count(data, []byte(`{"@class":"`)) || bytes.Contains(data, []byte(`\u00`))
}

// endsEarly reports whether a document ends before its value does.
func endsEarly(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// jsonDecoder turns a parsed document into a value of Java.
type jsonDecoder struct {
	codec    Name
	registry *registry
	order    map[uintptr][]string // see parseOrdered; nil where nobody wants to know
}

func (d jsonDecoder) errorf(format string, args ...any) error {
	return &ValueError{d.codec, fmt.Sprintf(format, args...)}
}

// telling are the classes and interfaces as which plain JSON is read by what it looks like.
var telling = map[string]bool{"": true, javaLangObject: true, "java.lang.Number": true, "java.lang.CharSequence": true, "java.io.Serializable": true}

func elementType(j *javaType) *javaType {
	if j.elem != nil {
		return j.elem
	}
	return objectType
}

func (d jsonDecoder) value(document any, declared *javaType, depth int) (any, error) {
	if depth > maxDepth {
		return nil, d.errorf("values nested deeper than %d", maxDepth)
	}
	if d.registry.isExact() && !d.codec.typed() && document != nil && declared.kind == kindAny && !telling[declared.declared] {
		d.registry.class(declared.declared) // which finds out why it is none
		return nil, d.errorf("the value holds a %s: these bytes do not tell of which class: %s", declared.declared, d.registry.model.problem(declared.declared))
	}
	if declared.kind == kindOther && document != nil {
		data, err := json.Marshal(document)
		return json.RawMessage(data), err
	}
	switch document := document.(type) {
	case json.Number:
		return d.number(document, declared)
	case string:
		return d.text(document, declared)
	case float64: // NaN or an infinity of a binary form
		if declared.kind == kindFloat {
			return float32(document), nil
		}
	case map[string]any:
		return d.object(document, declared, depth)
	case []any:
		if !d.codec.typed() {
			return d.list(document, declared, depth)
		}
		if declared.isArray() && !d.codec.wrapsArray(declared.elem) {
			return d.elements(declared.className(), document, declared, depth)
		}
		return d.wrapped(document, declared, depth)
	}
	return document, nil // nil, bool, []byte and float64
}

func (d jsonDecoder) number(n json.Number, declared *javaType) (any, error) {
	if value, is, err := d.jsonNumber(n, declared.kind); is {
		return value, err
	}
	if isInteger := declared.kind == kindInt || declared.kind == kindLong; isInteger && strings.ContainsAny(n.String(), ".eE") {
		return nil, d.errorf("the number %.40s is no integer", n)
	}
	if declared.kind == kindDouble || strings.ContainsAny(n.String(), ".eE") {
		f, err := n.Float64()
		if err != nil {
			return nil, d.errorf("the number %.40s does not fit a double", n)
		}
		return f, nil
	}
	i, err := n.Int64()
	if err != nil && declared.kind == kindAny && d.registry.plain() && !d.registry.isExact() {
		return toldNumber(n)
	}
	if err != nil {
		return nil, d.errorf("the number %.40s does not fit a long", n)
	}
	switch value := integer(i); declared.kind {
	case kindLong:
		return i, nil
	case kindInt:
		if value != any(int32(i)) {
			return nil, d.errorf("the number %.40s does not fit 32 bits", n)
		}
	}
	return integer(i), nil
}

func (d jsonDecoder) text(s string, declared *javaType) (any, error) {
	if value, is, err := d.jsonText(s, declared); is {
		return value, err
	}
	isNumber := declared.kind == kindAny && declared.declared == javaLangNumber
	if isNumber || declared.kind == kindDouble {
		switch s {
		case "NaN", "Infinity", "-Infinity":
			return strconv.ParseFloat(s, 64)
		}
	}
	switch declared.kind {
	case kindAny:
		if isNumber && d.registry.isExact() {
			return nil, d.errorf("expected a java.lang.Number, got the text %.40q", s)
		}
	case kindBytes:
		data, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, d.errorf("expected base64, got %.40q: %v", s, err)
		}
		return data, nil
	}
	return s, nil
}

func (d jsonDecoder) list(elements []any, declared *javaType, depth int) (any, error) {
	list := make([]any, len(elements))
	for i, element := range elements {
		var err error
		if list[i], err = d.value(element, elementType(declared), depth+1); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// elements reads an array, or a collection that is no list.
func (d jsonDecoder) elements(class string, all []any, declared *javaType, depth int) (any, error) {
	list, err := d.list(all, declared, depth)
	if err != nil {
		return nil, err
	}
	return &elements{class: class, elem: declared.elem, all: list.([]any)}, nil
}

// wrappedList reads what has the class of a collection, or of an array.
func (d jsonDecoder) wrappedList(class string, all []any, declared *javaType, depth int) (any, error) {
	switch {
	case declared.isArray() && class == declared.className():
		return d.elements(class, all, declared, depth)
	case declared.isArray() || !strings.HasPrefix(class, "java.util.") || d.registry.isExact() && class != arrayListName && !exactSets[class]:
		return nil, d.registry.unknown(class)
	case d.registry.isExact() && class != arrayListName:
		return d.exactElements(class, all, declared, depth)
	case class != arrayListName:
		return d.elements(class, all, declared, depth)
	}
	return d.list(all, declared, depth)
}

// key reads the name of a member as a key that is declared as j, or nil for nothing.
func (d jsonDecoder) key(name string, j *javaType) (any, error) {
	bits := 64
	switch {
	case j == nil || j.kind == kindString:
		return name, nil
	case j.kind == kindEnum || j.kind == kindUUID:
		key, _, err := d.jsonText(name, j)
		return key, err
	case j.kind == kindInt:
		bits = 32
	case j.kind == kindShort:
		bits = 16
	case j.kind == kindByte:
		bits = 8
	}
	n, err := strconv.ParseInt(name, 10, bits)
	if err != nil {
		return nil, d.errorf("the key %.40q is no integer of %d bits", name, bits)
	}
	switch bits {
	case 32:
		return int32(n), nil
	case 16:
		return int16(n), nil
	case 8:
		return int8(n), nil
	}
	return n, nil
}

// wrapped reads [class, value].
func (d jsonDecoder) wrapped(pair []any, declared *javaType, depth int) (any, error) {
	var class string
	if len(pair) == 2 {
		class, _ = pair[0].(string)
	}
	if class == "" {
		return nil, d.errorf("expected a two-element array of class and value, got an array of %d elements", len(pair))
	}
	own := d.wrappedType(class)
	switch inner := pair[1].(type) {
	case []any:
		return d.wrappedList(class, inner, declared, depth)
	case json.Number:
		if own != nil {
			return d.number(inner, own)
		}
		switch class {
		case javaLangLong:
			return d.number(inner, longType)
		case javaLangDouble:
			return d.number(inner, doubleType)
		case javaLangInteger:
			return d.number(inner, &javaType{kind: kindInt})
		}
	case []byte:
		if class == bytesName {
			return inner, nil
		}
	case float64:
		if class == javaLangDouble || class == javaLangFloat {
			return d.value(inner, cmp.Or(own, doubleType), depth)
		}
	case string:
		if own != nil {
			value, is, err := d.jsonText(inner, own)
			if !is {
				err = d.errorf("expected a %s, got the text %.40q", class, inner)
			}
			return value, err
		}
		switch class {
		case bytesName:
			return d.text(inner, bytesType)
		case javaLangDouble:
			return d.text(inner, doubleType)
		}
	}
	return nil, d.registry.unknown(class)
}

func (d jsonDecoder) object(members map[string]any, declared *javaType, depth int) (any, error) {
	class, mapClass := declared.class, hashMapName
	isMap := class == nil
	if d.codec.typed() && (class == nil || !class.final) {
		name, ok := members[classKey].(string)
		if !ok {
			return nil, d.errorf("expected the member %q in an object", classKey)
		}
		class = d.registry.class(name)
		if class != nil && declared.class != nil && declared.class.name == name {
			class = declared.class // of several that stand for a generic class
		}
		if class != nil {
			if untold := d.registry.untold(class, declared); untold != "" {
				return nil, d.errorf("the value holds %s", untold)
			}
		}
		mapClass = name
		isMap = class == nil && (exactMaps[name] || strings.HasPrefix(name, "java.util.") && !d.registry.isExact())
		if class == nil && !isMap {
			return nil, d.registry.unknown(name)
		}
	}
	if class != nil && class.annotated() != "" {
		return nil, &ValueError{d.codec, class.annotated()}
	}
	if d.registry.isExact() {
		if isMap && !d.codec.typed() {
			mapClass = mapOfPlainJSON(declared)
		}
		if isMap {
			return d.exactMapping(mapClass, members, declared, depth)
		}
		return d.exactObject(members, class, depth)
	}
	if isMap {
		return d.mapping(mapClass, members, declared, depth)
	}
	if d.codec.typed() && len(members) == 0 && len(class.fields) > 0 && (depth == 0 || class.hasPrimitive()) {
		return nil, d.errorf("expected the members of a %s, got {}: Java writes at least its class or its primitives, but that Jackson 2.15.0 of Redisson 3.21.1 writes a record so, whatever it held", class.name)
	}
	o := &object{class: class, fields: make([]any, len(class.fields))}
	// Java always writes primitives, and Jackson 3 of the codec without classes nulls, too: none of them is none there.
	always := d.codec == NameTypedJSON3 || d.codec.typed() && class.hasPrimitive()
	if (always || d.codec.typed()) && unmatched(members, class, always) {
		came := slices.DeleteFunc(slices.Sorted(maps.Keys(members)), func(key string) bool { return key == classKey })
		return nil, d.errorf("the value is an object of %s with the members %.200q, of which %v has none, but %.200q; give its fields json tags with the names of Java's",
			class.name, came, class.goType, class.fieldNames())
	}
	for i, f := range class.fields {
		var err error
		if o.fields[i], err = d.value(members[f.name], f.typ, depth+1); err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	return o, nil
}

// hasPrimitive reports whether it has a field that cannot be null.
func (c *class) hasPrimitive() bool {
	return slices.ContainsFunc(c.fields, func(f field) bool { return f.typ.isPrimitive() })
}

// mapping reads a map, in the order of the document where that is kept.
func (d jsonDecoder) mapping(class string, members map[string]any, declared *javaType, depth int) (any, error) {
	m := &dictionary{class: class}
	keys, ordered := d.order[reflect.ValueOf(members).Pointer()]
	if !ordered {
		keys = slices.Collect(maps.Keys(members))
	}
	for _, name := range keys {
		if name == classKey && d.codec.typed() {
			continue
		}
		key, err := d.key(name, declared.key)
		if err != nil {
			return nil, err
		}
		value, err := d.value(members[name], elementType(declared), depth+1)
		if err != nil {
			return nil, err
		}
		m.add(key, value)
	}
	if !ordered {
		m.sort()
	}
	return m, nil
}

// unmatched reports whether a struct has none of the members, though some were always there, or one is under another
// spelling: else a null may be no member, so that none at all may be right.
func unmatched(members map[string]any, class *class, always bool) bool {
	spelled := false
	for key := range members {
		spelled = spelled || always && key != classKey && len(class.fields) > 0
		for _, f := range class.fields {
			if f.name == key {
				return false
			}
			spelled = spelled || strings.EqualFold(f.name, key)
		}
	}
	return spelled
}
