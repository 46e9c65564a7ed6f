package codec

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

type field struct {
	name      string
	typ       *javaType
	of        *class // the class that declares it: the object's or a super class
	index     []int
	omitEmpty bool
	omitZero  bool
	// binding says by what Kryo5 knows what a type parameter in typ stands for.
	binding binding
}

// binding says by what Kryo5 knows the type arguments of a class that declares a field.
type binding uint8

const (
	byDeclaration binding = iota // what declares the object names them
	bySubclass                   // what a subclass extends names them
	// byNothing: between them and the class of the object is one that has no type parameters.
	byNothing
)

// above is the binding of the super class; generic says whether that has type parameters, own whether their arguments are
// those of the class that extends it.
func (b binding) above(generic, own bool) binding {
	switch {
	case !generic || b == byNothing:
		return byNothing
	case own:
		return b
	}
	return bySubclass
}

// from is the binding of a class below, in which that of this class is as it says.
func (b binding) from(below binding) binding {
	switch {
	case below == byNothing, b == byDeclaration:
		return below
	}
	return b
}

// isKnown reports whether the type arguments are, where declared says that what declares the object names them.
func (b binding) isKnown(declared bool) bool {
	return b == bySubclass || b == byDeclaration && declared
}

// addFields adds the fields of the struct t, which lies at path in c's struct, to
// c; of is the class that declares them, and b how its type arguments are known.
func (g *registry) addFields(c, of *class, t reflect.Type, path []int, b binding) error {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(slices.Clone(path), i)
		switch {
		case f.Type == originType:
			if f.IsExported() && (c.origin == nil || len(index) < len(c.origin)) {
				c.origin = index
				g.keepsOrder = true
			}
			continue
		case f.Anonymous && name == "" && !g.plain():
			if err := g.addSuper(c, of, f, index, b); err != nil {
				return err
			}
			continue
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && !ownJSON(f.Type):
			if err := g.addFields(c, of, f.Type, index, b); err != nil {
				return err
			}
			continue
		case tag == "-" || !f.IsExported():
			continue
		}
		if name == "" {
			name = f.Name
		}
		typ, err := g.fieldType(f)
		if err != nil {
			return err
		}
		has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
		if has("string") {
			return &TypeError{g.codec, t, fmt.Sprintf("the json option \"string\" of field %s; declare it a string", f.Name)}
		}
		c.fields = append(c.fields, field{name: name, typ: typ, of: of, index: index, omitEmpty: has("omitempty"), omitZero: has("omitzero"), binding: b})
	}
	return nil
}

// toJackson is what Jackson takes the field to be declared as; declared says that what declares the object names its type
// arguments. Of a generic class by itself a type parameter is an Object.
func (f field) toJackson(declared bool) *javaType {
	if declared || f.binding != byDeclaration {
		return f.typ
	}
	return f.typ.erased()
}

// erased has Object for a type parameter.
func (j *javaType) erased() *javaType {
	switch {
	case j.param:
		return objectType
	case j.elem != nil && j.elem.param:
		own := *j
		own.elem = objectType
		return &own
	}
	return j
}

// ofGeneric is the generic class of which an object is declared, or the elements of a collection are; nil for none.
func (j *javaType) ofGeneric() *class {
	switch {
	case j == nil:
		return nil
	case j.kind == kindObject && j.class.generic:
		return j.class
	case j.kind == kindObject:
		return nil
	}
	return cmp.Or(j.elem.ofGeneric(), j.key.ofGeneric())
}

// sortFields sorts the fields by name. Of two with one name, which only a class
// and its super class can have, Kryo writes the one of the subclass first.
func (g *registry) sortFields(c *class) error {
	slices.SortFunc(c.fields, func(a, b field) int {
		return cmp.Or(strings.Compare(a.name, b.name), len(a.index)-len(b.index))
	})
	for i, f := range c.fields[min(1, len(c.fields)):] {
		if before := c.fields[i]; f.name == before.name && (f.of == before.of || g.isJSON()) {
			return &TypeError{g.codec, c.goType, fmt.Sprintf("two fields named %q", f.name)}
		}
	}
	return nil
}

// fieldType is typeOf as the java tag of the field wants it.
func (g *registry) fieldType(f reflect.StructField) (*javaType, error) {
	typ, err := g.typeOf(f.Type)
	if err != nil {
		var inner *TypeError
		if errors.As(err, &inner) {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		return nil, err
	}
	if tag := f.Tag.Get("java"); tag != "" {
		return g.tagged(f, typ, tag)
	}
	return typ, nil
}
