package codec

import (
	"fmt"
	"slices"
	"strings"
)

// extra is a member that Jackson writes of an object besides its fields.
type extra struct {
	name  string
	field int // whose value it has; -1 for what is not known
}

// allFlags returns the flags of a class and its super classes, sorted; of one property that of the lower class.
func (c *class) allFlags() (all []JavaFlag) {
	for ; c != nil; c = c.super {
		for _, f := range c.flags {
			if !slices.ContainsFunc(all, func(known JavaFlag) bool { return known.Property == f.Property }) {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b JavaFlag) int { return strings.Compare(a.Property, b.Property) })
	return all
}

// annotated is what is wrong with JSON of an enum or a class.
const annotated = "has annotations of Jackson, or a field of an enum that has, by which its JSON may be another than that of its fields"

// annotated says why no codec of JSON writes or reads a class, or nothing.
func (c *class) annotated() string {
	for level := c; level != nil; level = level.super {
		if level.noJSON != "" {
			return level.noJSON + " " + annotated
		}
	}
	return ""
}

// annotated is that of the first of its classes.
func (g *registry) annotated() string {
	var all []string
	for _, j := range g.types {
		if j.kind == kindObject && j.class.annotated() != "" {
			all = append(all, j.class.annotated())
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.Min(all)
}

// extras returns the members that a codec writes besides the fields, sorted by name, and why it is not known what
// it writes.
func (c *class) extras(codec Name) (all []extra, problem string) {
	if problem := c.annotated(); problem != "" {
		return nil, problem
	}
	for level := c; level != nil && codec.jackson3(); level = level.super {
		if level.noJackson3 {
			return nil, level.name + " has fields that Jackson 3 does not write or read, or other members: it goes by public fields, getters and setters, and sets no final field"
		}
	}
	for _, f := range c.allFlags() {
		at := c.boolean(f.Field)
		same := f.Property == f.Field
		switch {
		case codec.jackson3() && strings.EqualFold(f.Property, f.Field) || same && at >= 0:
			continue // the field itself
		case at < 0 || codec.jackson3() || slices.Contains(c.fieldNames(), f.Property) || c.record:
			return nil, fmt.Sprintf("%s has a method that Jackson writes the property %q by, and what it writes then is not known here", c.name, f.Property)
		}
		all = append(all, extra{f.Property, at})
	}
	return all, ""
}

// boolean returns the number of a field that is a boolean, or -1.
func (c *class) boolean(name string) int {
	return slices.IndexFunc(c.fields, func(f field) bool { return f.name == name && f.typ.kind == kindBool })
}

// extra returns the member of that name which is not of a field of its own.
func (c *class) extra(name string) (extra, bool) {
	for _, f := range c.allFlags() {
		if f.Property == name && !slices.Contains(c.fieldNames(), name) {
			return extra{name, c.boolean(f.Field)}, true
		}
	}
	return extra{}, false
}

func (o *jsonObject) extra(e extra, of *object) {
	o.member(e.name, of.fields[e.field], of.class.fields[e.field].typ)
}
