package codec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is one way in which a Go type does not fit what Java wrote.
type Difference struct {
	// Path is the class and the field that it is about, such as "demo.Order.total"; empty
	// for the value as a whole.
	Path string
	// Problem says what Java has, what the Go type has, and what comes of it.
	Problem string
}

// String returns path and problem in one line.
func (d Difference) String() string {
	if d.Path == "" {
		return d.Problem
	}
	return d.Path + ": " + d.Problem
}

var formats = map[Name]format{
	NameJSON: jsonFormat{codec: NameJSON}, NameTypedJSON: jsonFormat{codec: NameTypedJSON},
	NameJSON3: jsonFormat{codec: NameJSON3}, NameTypedJSON3: jsonFormat{codec: NameTypedJSON3},
	NameKryo5: kryoFormat{}, NameMarshalling: riverFormat{}, NameSerialization: serialFormat{},
}

// Check explains, class by class and field by field, where T does not fit a value that
// Java wrote. Where there is no difference, T reads the value and writes it in the same
// bytes. Serialization and Marshalling describe their classes, and JSON names its fields;
// of Kryo5, which does neither, it tells what decoding and encoding show. Of a compressed value it is what is
// inside that is compared: two compressors write the same in other bytes.
func Check[T any](name Name, sample []byte, classes ...Class) []Difference {
	whole := func(format string, args ...any) []Difference {
		return []Difference{{"", fmt.Sprintf(format, args...)}}
	}
	outer, inner := name.Split()
	f, known := formats[inner]
	if !known {
		return whole("Check is for codecs of objects, not for %q", name)
	}
	if kind := Detect(sample); !slices.Contains(strings.Split(kind.Codec, "|"), string(name)) {
		return whole("the bytes are not of the codec %s: %s wrote them, %s", name, kind.Codec, cmp.Or(kind.Class, "of a class that they do not tell"))
	}
	if outer != "" {
		_, plain, err := unpacked(name, sample)
		if err != nil {
			return whole("it is not read: %v", err)
		}
		return Check[T](inner, plain, classes...)
	}
	b, err := bind[T](name, f, classes)
	if err != nil {
		return whole("%v", err)
	}
	all := b.registry.compare(sample)
	decode, encode, keepers := b.decode, b.encode, "; a field of codec.Origin keeps the former, codec.Keep all"
	if name == NameTypedJSON {
		decode, encode, keepers = JSON[T]{}.Decode, JSON[T]{}.Encode, "; codec.Keep keeps it"
	}
	value, err := decode(sample)
	if err != nil {
		return append(all, whole("it is not read: %v", err)...)
	}
	again, err := encode(value)
	if err != nil {
		return append(all, whole("it is read, but not written: %v", err)...)
	}
	if len(all) == 0 && !bytes.Equal(again, sample) {
		return whole("it is read, but written in other bytes from byte %d of %d on: most often the order or the class of a collection, or an instance that Java shares, "+
			"which no Go value holds%s", commonLength(again, sample), len(sample), keepers)
	}
	return all
}

func commonLength(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// compare tells where the classes that a value describes differ from those of the
// registry. What cannot be read is told by decoding it.
func (g *registry) compare(sample []byte) (all []Difference) {
	if g.codec == NameJSON || g.codec == NameJSON3 {
		var document any
		if json.Unmarshal(sample, &document) == nil {
			g.compareJSON(document, map[Difference]bool{}, &all)
		}
		return all
	}
	if !g.writesHierarchy() {
		return nil
	}
	_, classes, err := Describe(sample)
	if err != nil {
		return nil
	}
	for _, java := range classes {
		c, e := g.byName[java.Name], g.enums[java.Name]
		switch {
		case e != nil:
			all = append(all, e.compare(java)...)
		case c != nil:
			all = append(all, c.compare(g.codec, java)...)
		case len(java.Constants) > 0:
			all = append(all, Difference{java.Name, "no string type stands for this enum; give the constructor a Class of one, with all Constants in their order"})
		default:
			all = append(all, Difference{java.Name, "no struct stands for this class; `dq-bench codec gen` writes one"})
		}
	}
	return all
}

func (e *enum) compare(java JavaClass) (all []Difference) {
	for _, name := range java.Constants {
		if !slices.Contains(e.constants, name) {
			all = append(all, Difference{java.Name, fmt.Sprintf("the Constants of its Class lack %q, which came", name)})
		}
	}
	return all
}

// compare tells where the struct of a class differs from what bytes describe.
func (c *class) compare(name Name, java JavaClass) (all []Difference) {
	add := func(field, format string, args ...any) {
		path := java.Name
		if field != "" {
			path += "." + field
		}
		all = append(all, Difference{path, fmt.Sprintf(format, args...)})
	}
	switch {
	case c.uid == nil:
		add("", "its serialVersionUID is %d, which the java tag of %v lacks: nothing can be written", java.SerialVersionUID, c.goType)
	case *c.uid != java.SerialVersionUID:
		add("", "its serialVersionUID is %d, and %d in the java tag of %v: Java refuses what is written", java.SerialVersionUID, *c.uid, c.goType)
	}
	if java.Super != "" && c.ancestor(java.Super) == nil {
		add("", "it extends %s, for which %v embeds no struct: Java reads none of that class's fields from what is written", java.Super, c.goType)
	}
	own := map[string]field{}
	for _, f := range c.fields {
		if f.of == c {
			own[f.name] = f
		}
	}
	for _, field := range java.Fields {
		f, has := own[field.Name]
		delete(own, field.Name)
		switch {
		case !has:
			add(field.Name, "declared %s in Java, and left out of the struct: null or 0 in what is written", field.Type)
		case !f.fits(name, field.Type):
			add(field.Name, "declared %s in Java, and what stands for %s in the struct", field.Type, typeOfSignature(f.typ.signature(), "").erased())
		}
	}
	for _, left := range slices.Sorted(maps.Keys(own)) {
		i := slices.IndexFunc(java.Fields, func(field JavaField) bool { return strings.EqualFold(field.Name, left) })
		if i >= 0 {
			add(left, "Java has no such field, but %q: give it that name in its json tag", java.Fields[i].Name)
		} else {
			add(left, "Java has no such field: it stays empty, and Java passes over it")
		}
	}
	return all
}

// fits reports whether a field is declared as Java declares it, as far as that shows: in
// Marshalling only whether it is the same primitive, or none.
func (f field) fits(name Name, java JavaType) bool {
	own := typeOfSignature(f.typ.signature(), "")
	_, isPrimitive := primitiveNames[java.Class]
	if name == NameMarshalling && !isPrimitive && !f.typ.isPrimitive() {
		return true
	}
	return own.erased() == java.erased()
}

// erased returns the type without its arguments.
func (t JavaType) erased() string {
	if t.Class == "[]" && len(t.Of) > 0 {
		return t.Of[0].erased() + "[]"
	}
	return t.Class
}

// compareJSON tells the members of objects that their structs leave out.
func (g *registry) compareJSON(document any, told map[Difference]bool, all *[]Difference) {
	switch document := document.(type) {
	case []any:
		for _, element := range document {
			g.compareJSON(element, told, all)
		}
	case map[string]any:
		name, _ := document[classKey].(string)
		c := g.byName[name]
		for _, key := range slices.Sorted(maps.Keys(document)) {
			d := Difference{name + "." + key, "a member of the JSON, which the struct leaves out: null in what is written"}
			if c != nil && key != classKey && !c.hasMember(key) && !told[d] {
				told[d] = true
				*all = append(*all, d)
			}
			g.compareJSON(document[key], told, all)
		}
	}
}

// hasMember reports whether an object has a member of that name in JSON: that of a field, or what the option is of the
// tag names.
func (c *class) hasMember(name string) bool {
	_, isExtra := c.extra(name)
	return isExtra || slices.Contains(c.fieldNames(), name)
}
