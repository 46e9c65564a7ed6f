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
	// parameter is the type parameter of the object's class, or of a super class, that typ has; empty for none. Only a
	// model has such.
	parameter string
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
			super := &class{goType: f.Type}
			if err := g.readTag(super); err != nil {
				return err
			}
			c.noJSON, c.noJackson3 = cmp.Or(c.noJSON, super.noJSON), c.noJackson3 || super.noJackson3
			c.lacks, c.flags = append(c.lacks, super.lacks...), append(c.flags, super.flags...)
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
