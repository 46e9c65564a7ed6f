package codec

import "fmt"

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
