package codec

import (
	"cmp"
	"fmt"
)

// This file answers: by what do Kryo5 and Jackson write what a generic class declares with its type parameter? Go's
// types tell the arguments of a struct and not of the value of an any; Kryo5 knows them by what declares the object or
// by what a subclass extends, and forgets neither where it should. Where the two do not agree the value is refused.

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

// toJackson is what Jackson takes the field to be declared as; declared says that what declares the object names its type
// arguments. Of a generic class by itself a type parameter is an Object.
func (f field) toJackson(declared bool) *javaType {
	if declared || f.binding != byDeclaration {
		return f.typ
	}
	return f.typ.erased()
}

// erased has its bound for a type parameter, or Object.
func (j *javaType) erased() *javaType {
	switch {
	case j.param:
		return cmp.Or(j.erasure, objectType)
	case j.elem != nil && j.elem.param:
		own := *j
		own.elem = cmp.Or(j.elem.erasure, objectType)
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

// hasMixed reports whether the type, or that of elements or keys, has type arguments that are mixed.
func (j *javaType) hasMixed() bool {
	return j != nil && (j.mixed || j.elem.hasMixed() || j.key.hasMixed())
}

// untold says why an object of a generic class is neither written nor read where it is declared as j, or
// nothing. Kryo5 writes what is of a type parameter by the type arguments of the declaration, and JSON names
// classes by them.
func (g *registry) untold(c *class, j *javaType) string {
	switch {
	case !c.generic || j == nil || g.codec != NameKryo5 && !g.codec.typed():
		return ""
	case g.codec.typed() && j.kind == kindAny && c.nests(g.codec, false) != "":
		return c.nests(g.codec, false)
	case j.kind == kindObject && j.class.generic && j.class.name != c.name && (g.codec == NameKryo5 || g.codec.jackson3()):
		return fmt.Sprintf("an object of the generic class %s, where %s is declared, whose type arguments are taken for those of the other", c.name, j.class.name)
	case j.kind != kindAny || isJDK(j.declared) || j.declared == "":
		return ""
	}
	if g.model != nil {
		if java, err := g.model.look(j.declared); err != nil || len(java.Parameters) == 0 {
			return ""
		}
	}
	return fmt.Sprintf("an object of the generic class %s, where %s is declared without its type arguments, by which %s writes it; declare it with the struct that stands for the class", c.name, j.declared, g.codec)
}

// nests says why an object is neither written nor read, or nothing; declared says that what declares it names its
// type arguments. A field is of a generic class then, and no Go type tells which arguments of that are the type parameter.
func (c *class) nests(codec Name, declared bool) string {
	for _, f := range c.fields {
		if codec == NameKryo5 && f.typ.hasMixed() && f.binding == byDeclaration && !declared && !c.record {
			return fmt.Sprintf("an object of the generic class %s by itself, of whose field %s Kryo5 knows some type arguments, which it takes for others", c.name, f.name)
		}
	}
	if c.goType == nil {
		return ""
	}
	for _, f := range c.fields {
		of := f.typ.ofGeneric()
		switch {
		case of == nil:
		case f.binding == byDeclaration && c.generic && !declared && (codec == NameKryo5 && !c.record || codec != NameKryo5 && of.counts(codec)):
			return fmt.Sprintf("an object of the generic class %s by itself, whose field %s is of a generic class, too: %s writes that by what declares the object", c.name, f.name, codec)
		case f.binding == byNothing && f.of.generic && codec == NameKryo5:
			return fmt.Sprintf("an object of %s, whose field %s is of a generic class, and %s, which has it, is extended by a class without type parameters: Kryo5 does not know then what they stand for", c.name, f.name, f.of.name)
		}
	}
	return ""
}

// counts reports whether Jackson writes what is of a type parameter in another way where its argument is known.
func (c *class) counts(codec Name) bool {
	for _, f := range c.fields {
		typ := f.typ
		if !typ.param && typ.elem != nil {
			typ = typ.elem
		}
		switch {
		case !typ.param:
		case typ.kind == kindLong && codec.jackson3(), typ.kind == kindObject && typ.isFinal(), typ.kind == kindEnum:
			return true
		}
	}
	return false
}

// kryoScope has the classes of the objects around one for which Kryo5 knows that a type parameter stands for a final
// class. It forgets that for no object further in: one of the same class, of whose own arguments it knows nothing, is
// written and read by those of the other, and a String by itself is one that it casts to Long.
type kryoScope []*class

// enter notes an object, and returns what forgets it.
func (s *kryoScope) enter(c *class, bound bool) (leave func()) {
	if !bound || !c.fixes(0) {
		return func() {}
	}
	*s = append(*s, c)
	return func() { *s = (*s)[:len(*s)-1] }
}

// misleads says why an object of a class is neither written nor read, or nothing.
func (s kryoScope) misleads(c *class, bound bool) string {
	if len(s) == 0 {
		return ""
	}
	for _, f := range c.fields {
		if !f.isOfParameter() || f.binding.isKnown(bound) && !f.isOpen() {
			continue
		}
		for _, outer := range s {
			if outer.ancestor(f.of.name) != nil {
				return fmt.Sprintf("an object of the generic class %s, without its type arguments, in one whose type arguments are known: Kryo5 takes those for its own", c.name)
			}
		}
	}
	return ""
}

// maxFixes bounds how deep a class is looked at that has itself in its fields.
const maxFixes = 5

// fixes reports whether a type parameter of the class stands for a final class, as far as its fields show.
func (c *class) fixes(depth int) bool {
	if !c.generic || depth > maxFixes {
		return false
	}
	for _, f := range c.fields {
		p, of := f.typ.parameter(), f.typ.ofGeneric()
		if p != nil && p.isFinal() || p == nil && of != nil && of != c && of.fixes(depth+1) {
			return true
		}
	}
	return false
}

// parameter returns the type, or that of its elements or keys, that is a type parameter; nil for none.
func (j *javaType) parameter() *javaType {
	for _, p := range []*javaType{j, j.elem, j.key} {
		if p != nil && p.param {
			return p
		}
	}
	return nil
}

// isOfParameter reports whether Kryo5 writes what the field holds by a type argument of the class.
func (f field) isOfParameter() bool {
	return f.typ.parameter() != nil || f.of.generic && f.typ.ofGeneric() != nil
}

// isOpen reports whether nothing is known of what the type parameter stands for.
func (f field) isOpen() bool {
	p := f.typ.parameter()
	return p != nil && p.kind == kindAny && p.declared == ""
}
