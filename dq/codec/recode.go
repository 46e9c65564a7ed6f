package codec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Recoder writes the values of one codec as another one does: in the bytes that Java writes with it for the value
// that it reads with the first, but for what the first does not tell, such as the size of a table, and for the
// order of a record's members in JSON of Jackson 3. It is for one goroutine.
//
// Objects of classes of applications are carried where their class files say what the bytes leave out:
// Kryo5 and JSON write a field by its declared type, its type arguments and whether its class is final,
// which no stream tells; JSON and Kryo5 tell no serialVersionUID, and Kryo5 no names of fields.
// Collections of the JDK are carried as the class that they are, where both codecs are known to write it.
//
// Marshalling and Serialization keep which places of a value are one object, and an object that is reached
// from itself, and both come over between the two; the others cannot, and Java loses the one and fails at
// the other there, as is done here: the same value is written in each place, and a cycle is refused.
//
// A value is refused, with a *RecodeError, where it would come out as another one: what it holds has no
// form in the other codec, or what becomes of it there is not known here. Each value that is written is
// read again, and compared.
type Recoder struct {
	from, to  Name
	root      *javaType // what a value of typed-json is declared as
	read      *registry
	write     *registry
	identical bool // the codecs within are the same
}

// RecodeError says why a value is not written in another codec.
type RecodeError struct {
	// Class is the Java class that it is about, Path where in the value: "acme.Order.items[].state", and
	// "acme.Order.byName.keys[]" for a key of a map. Both are empty where the bytes do not tell.
	Class, Path string
	// Reason says what is wrong.
	Reason string
}

func (e *RecodeError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// NewRecoder returns a Recoder between two codecs of ByName. find returns a class as its class file
// describes it, and an fs.ErrNotExist where there is none; nil knows none. root is the class of the
// values of typed-json and typed-json3, whose bytes do not name it.
//
// It fails with errors.ErrUnsupported for a codec that is not read, or not written, here, and for two
// that write the same bytes.
func NewRecoder(from, to Name, find func(class string) (JavaClass, error), root string) (*Recoder, error) {
	outerFrom, innerFrom := from.Split()
	outerTo, innerTo := to.Split()
	for _, name := range []Name{from, to} {
		if _, err := ByName(name); err != nil {
			return nil, err
		}
	}
	form := func(outer Name) Name {
		if outer == NameLZ4V2 {
			return NameLZ4 // the same bytes
		}
		return outer
	}
	if innerFrom == innerTo && form(outerFrom) == form(outerTo) {
		return nil, &TypeError{to, nil, "it writes the same bytes as " + string(from) + ": there is nothing to do"}
	}
	m := newModel(find, innerFrom, innerTo)
	r := &Recoder{from: from, to: to, identical: innerFrom == innerTo, root: objectType}
	r.read, r.write = emptyRegistry(innerFrom, nil), emptyRegistry(innerTo, nil)
	r.read.model, r.write.model = m, m
	r.read.keepsInstances = m.instances
	r.write.keepsInstances = m.instances
	plain := innerFrom
	if !r.read.plain() {
		plain = innerTo
	}
	if !r.identical && (r.read.plain() || r.write.plain()) {
		if root == "" {
			return nil, &TypeError{plain, nil, "its bytes do not name the class of the value"}
		}
		var err error
		if r.root, err = m.typ(JavaType{Class: root}, nil); err != nil {
			return nil, &TypeError{plain, nil, fmt.Sprintf("class %s: %v", root, err)}
		}
	}
	return r, nil
}

// ReadBy tells which Redisson is to read what is written: whether it reads records in JSON, and how long a text or a
// number may be there, depends on the Jackson that it brings. Without that, records are refused there, and what the
// Jackson of any release does not read.
func (r *Recoder) ReadBy(release wire.Release) { r.read.model.release = release }

// Looks says what the bytes of a value look like to a Recoder.
type Looks uint8

// What a value can look like.
const (
	LooksOther Looks = iota // of neither codec
	LooksFrom               // of the codec that is read
	LooksTo                 // of the codec that is written
	LooksBoth               // of either: "42" is text, and JSON
)

// Looks tells of which of the two codecs a value seems to be.
func (r *Recoder) Looks(data []byte) Looks {
	outerFrom, innerFrom := r.from.Split()
	outerTo, innerTo := r.to.Split()
	var from, to bool
	if outerFrom == "" && outerTo == "" { // looked at once
		kinds := kindsOf(data)
		from, to = kinds.may(innerFrom, data), kinds.may(innerTo, data)
	} else {
		from, to = looksLike(r.from, data), looksLike(r.to, data)
	}
	switch {
	case from && to:
		return LooksBoth
	case from:
		return LooksFrom
	case to:
		return LooksTo
	}
	return LooksOther
}

// looksLike reports whether a codec may have written a value.
func looksLike(name Name, data []byte) bool {
	inner, plain, err := unpacked(name, data)
	return err == nil && kindsOf(plain).may(inner, plain)
}

// kinds are the codecs that may have written a value that is not compressed.
type kinds []string

func kindsOf(plain []byte) kinds { return strings.Split(detectPlain(plain).Codec, "|") }

// may reports whether a codec that does not compress may have written the value that they are of.
func (k kinds) may(name Name, plain []byte) bool {
	alike := []Name{name}
	switch name {
	case NameBytes:
		return true
	case NameLong:
		_, err := Long{}.Decode(plain)
		return err == nil
	case NameString:
		if k[0] == UnknownCodec {
			return utf8.Valid(plain) // with control characters
		}
	case NameJSON, NameJSON3:
		alike = []Name{NameJSON, NameJSON3}
	case NameTypedJSON, NameTypedJSON3:
		alike = []Name{NameTypedJSON, NameTypedJSON3}
	}
	return slices.ContainsFunc(alike, func(n Name) bool { return slices.Contains(k, string(n)) })
}

// Recode returns a value in the other codec. It fails with a *RecodeError, also for bytes that do not
// look like the codec that it reads.
func (r *Recoder) Recode(data []byte) ([]byte, error) {
	if !looksLike(r.from, data) {
		kind := Detect(data)
		what := kind.Codec
		if kind.Codec == UnknownCodec {
			what = "no codec known here"
		}
		return nil, &RecodeError{kind.Class, "", fmt.Sprintf("these are no bytes of %s: they seem to be of %s", r.from, what)}
	}
	inner, plain, err := unpacked(r.from, data)
	if err == nil && !r.identical {
		plain, err = r.plain(inner, plain)
	}
	if err != nil {
		return nil, refusal(err, "")
	}
	written := plain
	if outer, _ := r.to.Split(); outer != "" {
		written = compressors[outer].pack(plain)
		if len(plain) > maxUnpacked(len(written)) {
			return nil, &RecodeError{"", "", fmt.Sprintf("%d bytes compress to %d, which would not be decompressed", len(plain), len(written))}
		}
	}
	if !looksLike(r.to, written) {
		return nil, &RecodeError{"", "", fmt.Sprintf("what %s writes of it looks like %s, so that nobody could tell later what it is", r.to, Detect(written).Codec)}
	}
	return written, nil
}

// plain writes a value without what compresses it.
func (r *Recoder) plain(inner Name, data []byte) ([]byte, error) {
	value, err := r.decode(inner, data, r.read)
	if err != nil {
		return nil, refusal(err, Detect(data).Class)
	}
	_, to := r.to.Split()
	c := carrier{model: r.read.model, from: inner, to: to, limits: limitsOf(to, r.read.model.release), budget: maxShared + len(data), met: map[*instance]bool{}}
	declared := r.rootOf(to)
	if declared == nil {
		declared = r.rootOf(inner)
	}
	if err := c.check(value, declared, rootPath(value)); err != nil {
		return nil, err
	}
	written, err := r.encode(to, value)
	if err != nil {
		return nil, refusal(err, classOf(value))
	}
	again, err := r.decode(to, written, r.write)
	wrong := ""
	if same := (comparison{map[*instance]*instance{}}).same; err != nil {
		wrong = ": " + err.Error()
	} else if same(value, again) {
		return written, nil
	}
	path := rootPath(value)
	if err == nil {
		path = difference(value, again, path, 0)
	}
	return nil, &RecodeError{classOf(value), path, fmt.Sprintf("%s has no form for it: it would be read as another value%s", to, wrong)}
}

func (r *Recoder) rootOf(name Name) *javaType {
	if name == NameTypedJSON || name == NameTypedJSON3 {
		return r.root
	}
	return nil
}

func (r *Recoder) decode(name Name, data []byte, g *registry) (any, error) {
	switch name {
	case NameString:
		return string(data), nil
	case NameBytes:
		return slices.Clone(data), nil
	case NameLong:
		return Long{}.Decode(data)
	}
	declared := r.rootOf(name)
	if declared == nil && name.typed() {
		declared = objectType
	}
	return formats[name].decode(data, g, declared)
}

func (r *Recoder) encode(name Name, value any) ([]byte, error) {
	wrong := func(want string) ([]byte, error) {
		return nil, &RecodeError{classOf(value), rootPath(value), fmt.Sprintf("%s has no form for it, it holds %s alone", name, want)}
	}
	switch name {
	case NameString:
		if text, is := value.(string); is {
			return []byte(text), nil
		}
		return wrong("texts")
	case NameBytes:
		if data, is := value.([]byte); is {
			return slices.Clone(data), nil
		}
		return wrong("byte[]")
	case NameLong:
		if n, is := value.(int64); is {
			return Long{}.Encode(n)
		}
		return wrong("Long")
	}
	switch name {
	case NameJSON, NameTypedJSON:
		return jsonFormat{codec: name, release: r.read.model.release}.encode(value)
	case NameSerialization:
		return serialFormat{oneEmpty: true, oneLocale: r.write.keepsInstances}.encode(value)
	case NameMarshalling:
		return riverFormat{oneLocale: r.write.keepsInstances}.encode(value)
	}
	return formats[name].encode(value)
}

// refusal makes a *RecodeError of an error of a codec.
func refusal(err error, class string) error {
	var already *RecodeError
	var unknown *ClassError
	switch {
	case errors.As(err, &already):
		return err
	case errors.As(err, &unknown):
		class = unknown.Class
	}
	text := err.Error()
	var path string
	for {
		var name, of string
		n, scanErr := fmt.Sscanf(text, "field %s of %s ", &name, &of)
		if n != 2 || scanErr != nil {
			break
		}
		if path == "" {
			path = strings.TrimSuffix(of, ":")
		}
		path += "." + name
		_, text, _ = strings.Cut(text, ": ")
	}
	return &RecodeError{class, path, strings.TrimPrefix(text, "codec ")}
}

// classOf returns the class of a value of Java.
func classOf(value any) string {
	switch value := value.(type) {
	case *instance:
		return classOf(value.value)
	case *object:
		return value.class.name
	case *elements:
		return value.class
	case *dictionary:
		return value.class
	case constant:
		return value.of.name
	case foreign:
		return value.class
	case optional:
		return "java.util.Optional"
	}
	return ClassOf(value)
}

func rootPath(value any) string { return classOf(value) }

// sameValue is same for values that are no instances.
func (c comparison) sameValue(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, is := b.([]any)
		return is && c.sameAll(a, b)
	case *elements:
		b, is := b.(*elements)
		return is && a.class == b.class && c.sameAll(a.all, b.all)
	case *dictionary:
		b, is := b.(*dictionary)
		return is && a.class == b.class && c.sameAll(a.keys, b.keys) && c.sameAll(a.values, b.values)
	case *object:
		b, is := b.(*object)
		return is && a.class.name == b.class.name && c.sameAll(a.fields, b.fields)
	case optional:
		b, is := b.(optional)
		return is && c.same(a.value, b.value)
	case constant:
		b, is := b.(constant)
		return is && a.of.name == b.of.name && a.name == b.name
	case float64:
		b, is := b.(float64)
		return is && (a == b || a != a && b != b)
	case float32:
		b, is := b.(float32)
		return is && (a == b || a != a && b != b)
	}
	return reflect.DeepEqual(a, b)
}
