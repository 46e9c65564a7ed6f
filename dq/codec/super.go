package codec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// addSuper takes the embedded field f of the class of, which is c or a super
// class of it, for the super class, and adds its fields to c.
func (g *registry) addSuper(c, of *class, f reflect.StructField, index []int, b binding) error {
	if f.Type.Kind() != reflect.Struct {
		return &TypeError{g.codec, of.goType, fmt.Sprintf("the embedded field %s: only a struct, no pointer to one, stands for the super class; for another field name it in a json tag", f.Name)}
	}
	typ, err := g.typeOf(f.Type)
	if err != nil {
		return fmt.Errorf("embedded field %s: %w", f.Name, err)
	}
	if of.super != nil && of.super != typ.class {
		return &TypeError{g.codec, of.goType, fmt.Sprintf("two embedded structs, for %s and %s; a Java class has one super class", of.super.name, typ.class.name)}
	}
	of.super = typ.class
	// Not the fields of typ.class: it may be unfinished, where a field of it leads
	// back to c.
	return g.addFields(c, typ.class, f.Type, index, b.above(isGeneric(f.Type), f.Tag.Get("java") == "T"))
}

// isGeneric reports whether a struct stands for a class with type parameters: it has some itself, or tags a field so.
func isGeneric(t reflect.Type) bool {
	if strings.Contains(t.Name(), "[") {
		return true
	}
	for i := range t.NumField() {
		tag := t.Field(i).Tag.Get("java")
		if _, is := parameterTag(tag); is || strings.HasSuffix(tag, "<T>") {
			return true
		}
	}
	return false
}

// ancestor returns c or the super class of that name, or nil.
func (c *class) ancestor(name string) *class {
	for ; c != nil && c.name != name; c = c.super {
	}
	return c
}

// levels returns c and its super classes in the order in which their fields are
// written: the topmost first.
func (c *class) levels() []*class {
	var levels []*class
	for ; c != nil; c = c.super {
		levels = append(levels, c)
	}
	slices.Reverse(levels)
	return levels
}

// writesHierarchy reports whether the bytes hold the fields of each class apart.
func (g *registry) writesHierarchy() bool {
	return g.codec == NameMarshalling || g.codec == NameSerialization
}

// superClass is one that a struct does not describe as Java has it.
type superClass struct {
	name string
	// field is one that the struct has in the subclass; empty where it embeds none
	// for the super class.
	field string
}

// checkSupers refuses c where a field of a super class would go out as one of a
// subclass, which Java takes for unknown.
func (g *registry) checkSupers(c *class) error {
	if !g.writesHierarchy() {
		return nil
	}
	for level := c; level != nil; level = level.super {
		lacking := superClass{name: level.declaredSuper}
		if lacking.name == "" || level.ancestor(lacking.name) != nil {
			learned, _ := g.supers.Load(level.name)
			lacking, _ = learned.(superClass)
		}
		if reason := lacking.missingIn(level, c.fields); reason != "" {
			return &TypeError{g.codec, level.goType, reason}
		}
	}
	return nil
}

// missingIn says what is wrong with level, whose fields are among fields, or
// nothing.
func (s superClass) missingIn(level *class, fields []field) string {
	misplaced := func(f field) bool { return f.of == level && f.name == s.field }
	switch {
	case s.name == "":
		return ""
	case level.ancestor(s.name) == nil:
		return fmt.Sprintf("%s has the super class %s, which has fields of its own, and Java would read none of them from this struct; embed a struct of class %s in it and move them there", level.name, s.name, s.name)
	case slices.ContainsFunc(fields, misplaced):
		return fmt.Sprintf("%s has the super class %s, to which the field %q belongs, and Java would not read it from this struct; move it to the embedded struct of class %s", level.name, s.name, s.field, s.name)
	}
	return ""
}

// lessons are what decoded bytes show of the super classes of classes.
type lessons struct {
	lacking map[string]superClass
	absent  map[inheritance]bool
}

// inheritance is that a struct embeds one for a super class, both by their Java names.
type inheritance struct{ class, super string }

func newLessons() lessons { return lessons{map[string]superClass{}, map[inheritance]bool{}} }

// learn keeps, by class, the super classes that decoded bytes showed. They stay
// for the life of the codec: no later value shows that a class has none. That bytes had none
// where the struct embeds one stays until some have it, since the others may be older.
func (g *registry) learn(all lessons) {
	for class, super := range all.lacking {
		if known, ok := g.supers.Load(class); !ok || known != super {
			g.supers.Store(class, super)
		}
	}
	for of, absent := range all.absent {
		known, seen := g.absent.Load(of)
		if !seen || known == true && !absent {
			g.absent.Store(of, absent)
			g.learned.Add(1)
		}
	}
}

// without returns the super classes of c that are not written, as Java has none of their fields in the bytes. It fails for
// an object that Java does not write.
func (g *registry) without(c *class) (all []*class, err error) {
	if !g.writesHierarchy() {
		return nil, nil
	}
	if c.serializable == "no" {
		return nil, &TypeError{g.codec, c.goType, fmt.Sprintf("%s is not java.io.Serializable, as its java tag says: Java neither writes nor reads its objects with this codec", c.name)}
	}
	for level := c.super; level != nil; level = level.super {
		absent, _ := g.absent.Load(inheritance{c.name, level.name})
		if level.serializable == "no" || level.serializable == "" && absent == true {
			all = append(all, level)
		}
	}
	return all, nil
}

// errAbsent is the error of a value in a field of a super class that is not written.
func (g *registry) errAbsent(c *class, f field) error {
	reason := "which the objects that Java wrote do not have, so that it is not java.io.Serializable; if it is by now, say serializable=yes in the java tag of its struct"
	if f.of.serializable == "no" {
		reason = "which is not java.io.Serializable, as its java tag says"
	}
	return &ValueError{g.codec, fmt.Sprintf("a value in %s.%s, a field that %s has of its super class %s, %s: Java would lose it; leave it zero, or take another codec", f.of.name, f.name, c.name, f.of.name, reason)}
}

// levels returns the classes of which the object is written, the topmost first.
func (o *object) levels() []*class {
	return slices.DeleteFunc(o.class.levels(), func(c *class) bool { return slices.Contains(o.without, c) })
}
