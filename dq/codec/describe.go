package codec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// JavaType is a type as Java declares it.
type JavaType struct {
	// Class is "long", "java.lang.Long", "java.util.List", "acme.Order", or "[]" for an
	// array; "" where nothing tells.
	Class string
	// Of has the type arguments, or the type of an array's elements.
	Of []JavaType
	// Parameter is the name of the type parameter that it is, and "?" for a wildcard with a bound;
	// Class is then the class that it is erased to. A wildcard that a class or a type parameter bounds from
	// below, or a type parameter from above, has that in Of. Only class files tell.
	Parameter string
}

// String returns the type as Java source has it.
func (t JavaType) String() string {
	switch {
	case t.Class == "":
		return "?"
	case t.Class == "[]":
		return t.Of[0].String() + "[]"
	case len(t.Of) == 0:
		return t.Class
	}
	parts := make([]string, len(t.Of))
	for i, of := range t.Of {
		parts[i] = of.String()
	}
	return t.Class + "<" + strings.Join(parts, ", ") + ">"
}

// JavaField is a field of a class.
type JavaField struct {
	Name string
	// Type is what is declared, its type arguments what the values show. Marshalling does
	// not tell the declared classes: there it is what the values show alone.
	Type JavaType
	// Holds has the classes of objects that were there, sorted.
	Holds []string
}

// JavaFlag is a property that Jackson takes a method for.
type JavaFlag struct {
	Property string // "active" for isActive, "url" for isURL
	// Field is the field of the class that the method returns; empty where it returns anything else.
	Field string
}

// JavaClass is a class as bytes describe it, or as its class file does.
type JavaClass struct {
	Name             string
	SerialVersionUID int64
	// Super is the super class, "" for one that is not serializable.
	Super string
	// SuperOf has the type arguments of the super class; only class files tell.
	SuperOf []JavaType
	Record  bool
	// Final and Abstract are what the class is declared to be; only class files tell.
	Final    bool
	Abstract bool
	Fields   []JavaField
	// HasBodies says that constants of an enum have bodies, so that they are of classes of their
	// own; only class files tell.
	HasBodies bool
	// Constants are those of an enum: all in their order, or those that the values show.
	Constants []string
	// OwnData says that its writeObject method writes more than its fields.
	OwnData bool

	// What follows only class files tell.

	// Interface says that it is an interface.
	Interface bool
	// Collection says that it is a java.util.Collection or Map, as far as it and what it extends and implements
	// show: Kryo5 and JSON write its elements, not its fields.
	Collection bool
	// Serializable says that it, a super class or an interface that could be looked at is
	// java.io.Serializable.
	Serializable bool
	// NotSerializable says that it is none for certain: all that it extends and implements could be looked at.
	NotSerializable bool
	// Parameters are the names of its type parameters.
	Parameters []string
	// Flags are the properties that JsonJacksonCodec writes besides the fields: what the public methods return that
	// are named isX and return a boolean, its own and those that its interfaces have a body for.
	Flags []JavaFlag
	// Jackson3 has the fields that JsonJackson3Codec does not write, since they are neither public nor have a getter, or
	// does not read, since they are final and a constructor without parameters has set them, the getters that it takes for another property, also those
	// that its interfaces have a body for,
	// and the setters of fields that do anything but store what they are given; of an enum a toString method of its own, by which it
	// writes the constants.
	Jackson3 []string
	// Custom is by what the class has its own say in what is written of its objects: the names of such
	// methods, as writeObject or readResolve, and packages of annotations of Jackson and Kryo.
	Custom []string
	// Annotated says that it, a super class or an interface that could be looked at names annotations of Jackson, by which
	// its JSON may be another than that of its fields. No other codec goes by them.
	Annotated bool
	// Hidden are the fields that the compiler has added, such as this$0 of an inner class, which is its outer object:
	// Kryo5 and JSON leave them out, Serialization and Marshalling do not.
	Hidden []string
	// Defaults are the fields, its own or of a super class, in which its constructor without parameters, and those that
	// this one calls by this(…) and super(…), store values but null, which Jackson leaves to an object where JSON lacks
	// them. Opaque says that they may do so in any, as they do more with the object than that, such as call a method of
	// it, hand it on or keep it, or as they are not all to be found.
	Defaults []string
	Opaque   bool
	// NoDefault says that it has no constructor without parameters, and so that Jackson cannot read it
	// unless it is a record.
	NoDefault bool
	// OfText says that it has a constructor whose parameter is one String, or a public static method valueOf or fromString
	// that makes it of one: Jackson reads keys of maps by these.
	OfText bool
}

// Describe returns the classes of applications whose objects values of Serialization or
// Marshalling hold, sorted by name. Only these two codecs name the fields of an object;
// more samples tell more of the types of what is null in some. It fails with a
// *FormatError for broken bytes, and with errors.ErrUnsupported for other codecs and for
// samples of several.
func Describe(samples ...[]byte) (Name, []JavaClass, error) {
	s := sketch{classes: map[string]*JavaClass{}, values: map[fieldOf][]any{}, constants: map[string]map[string]bool{}, seen: map[*record]bool{}}
	var name Name
	for i, data := range samples {
		kind := Detect(data)
		if i > 0 && kind.Likeliest() != name {
			return name, nil, &TypeError{name, nil, fmt.Sprintf("sample %d is of another codec, %s", i+1, kind.Codec)}
		}
		name = kind.Likeliest()
		inner, plain, err := unpacked(name, data)
		if err != nil {
			return name, nil, err
		}
		s.budget += maxShared + len(plain)
		if err := s.sample(inner, plain); err != nil {
			return name, nil, err
		}
	}
	if s.budget < 0 {
		return name, nil, &ValueError{name, "references multiply the value beyond its bounds"}
	}
	return name, s.finish(), nil
}

// sample adds what one value shows.
func (s *sketch) sample(name Name, data []byte) error {
	g := emptyRegistry(name, nil)
	g.keepsRecords = true
	stream, is := openObjects(name, data, g)
	if !is {
		return &TypeError{name, nil, "its bytes do not name the fields of objects; take a sample of Serialization or Marshalling, or the class files"}
	}
	value, err := stream.document()
	if err != nil {
		return err
	}
	for _, c := range stream.described() {
		s.class(c)
	}
	s.value(value)
	return nil
}

type fieldOf struct{ class, field string }

// sketch gathers what values show of their classes.
type sketch struct {
	classes   map[string]*JavaClass
	values    map[fieldOf][]any
	constants map[string]map[string]bool // by enum
	seen      map[*record]bool
	budget    int // see converter
}

func (s *sketch) class(c *serialClass) {
	isOwn := c.flags&(scSerializable|scExternalizable) != 0 && !strings.HasPrefix(c.name, "java") && !strings.HasPrefix(c.name, "[")
	if _, known := s.classes[c.name]; known || !isOwn {
		return
	}
	own := &JavaClass{Name: c.name, SerialVersionUID: c.uid, OwnData: c.flags&scExternalizable != 0}
	if c.super != nil && c.flags&scEnum == 0 {
		own.Super = c.super.name
	}
	for _, f := range c.fields {
		own.Fields = append(own.Fields, JavaField{Name: f.name, Type: typeOfSignature(string(f.code), f.signature)})
	}
	s.classes[c.name] = own
}

// typeOfSignature returns a type as class files write it; code alone tells a primitive.
func typeOfSignature(code, signature string) JavaType {
	if signature == "" {
		signature = code
	}
	switch signature[0] {
	case '[':
		if len(signature) > 1 {
			return JavaType{Class: "[]", Of: []JavaType{typeOfSignature(signature[1:], "")}}
		}
		return JavaType{}
	case 'L':
		return JavaType{Class: strings.ReplaceAll(strings.TrimSuffix(signature[1:], ";"), "/", ".")}
	}
	for name, code := range primitiveNames {
		if code == signature {
			return JavaType{Class: name}
		}
	}
	return JavaType{}
}

// value gathers what lies below a value.
func (s *sketch) value(value any) {
	if s.budget--; s.budget < 0 {
		return
	}
	switch value := value.(type) {
	case []any:
		s.each(value)
	case *elements:
		s.each(value.all)
	case *dictionary:
		s.each(value.keys)
		s.each(value.values)
	case constant:
		if s.constants[value.of.name] == nil {
			s.constants[value.of.name] = map[string]bool{}
		}
		s.constants[value.of.name][value.name] = true
	case *record:
		s.record(value)
	}
}

func (s *sketch) each(all []any) {
	for _, v := range all {
		s.value(v)
	}
}

func (s *sketch) record(r *record) {
	if s.seen[r] {
		return // references multiply what they refer to
	}
	s.seen[r] = true
	for _, level := range r.chain {
		if c := s.classes[level.name]; c != nil && len(r.data) > 0 && level.flags&scWriteMethod != 0 {
			c.OwnData = true
		}
	}
	r.each(func(level int, name string, value any) {
		of := fieldOf{r.chain[level].name, name}
		s.values[of] = append(s.values[of], value)
		s.value(value)
	})
	s.each(r.data)
}

func (s *sketch) finish() []JavaClass {
	for name, seen := range s.constants {
		c := s.classes[name]
		if c == nil {
			c = &JavaClass{Name: name}
			s.classes[name] = c
		}
		c.Constants = slices.Sorted(maps.Keys(seen))
	}
	all := make([]JavaClass, 0, len(s.classes))
	for _, name := range slices.Sorted(maps.Keys(s.classes)) {
		c := s.classes[name]
		for i := range c.Fields {
			f := &c.Fields[i]
			values := s.values[fieldOf{name, f.Name}]
			f.Type = f.Type.with(typeOfValues(values, 0))
			f.Holds = classesOf(values)
		}
		slices.SortFunc(c.Fields, func(a, b JavaField) int { return strings.Compare(a.Name, b.Name) })
		all = append(all, *c)
	}
	return all
}

// with returns a declared type with the arguments that its values show.
func (t JavaType) with(shown JavaType) JavaType {
	switch {
	case t.Class == "":
		return shown
	case t.Class == "[]" && len(t.Of) > 0 && t.Of[0].Class == "" && shown.Class == "[]":
		return shown
	case strings.HasPrefix(t.Class, "java.util.") && len(t.Of) == 0:
		t.Of = shown.Of
	}
	return t
}
