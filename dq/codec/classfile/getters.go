package classfile

import (
	"slices"
	"strings"
	"unicode"

	"github.com/dq-bench/dq-bench/dq/codec"
)

const accBridge = 0x0040 // of methods: made by the compiler

// isGetter reports whether Jackson takes a method for a property by the prefix.
func (m member) isGetter(prefix string) bool {
	name, has := strings.CutPrefix(m.name, prefix)
	returns, plain := strings.CutPrefix(m.descriptor, "()")
	if !has || name == "" || !plain || m.access&accPublic == 0 || m.access&(accStatic|accBridge) != 0 {
		return false
	}
	return returns != "V" && prefix == "get" || prefix == "is" && (returns == "Z" || returns == "Ljava/lang/Boolean;")
}

// isSetter reports whether Jackson 3 takes a method for what sets a property, which need not be public.
func (m member) isSetter() bool {
	parameter, _, found := strings.Cut(strings.TrimPrefix(m.descriptor, "("), ")")
	isOne := found && parameter != "" && lengthOf(parameter) == len(parameter)
	return isOne && strings.HasPrefix(m.name, "set") && len(m.name) > len("set") && m.access&(accStatic|accBridge) == 0
}

// property is how Jackson 2 names what isURLSafe returns: urlsafe.
func (m member) property() string {
	name := []rune(strings.TrimPrefix(m.name, "is"))
	for i := 0; i < len(name) && unicode.ToLower(name[i]) != name[i]; i++ {
		name[i] = unicode.ToLower(name[i])
	}
	return string(name)
}

// bean is how Jackson 3 names what a getter returns or a setter sets, as beans do: URLSafe, active; "" for none.
func (m member) bean() string {
	name := []rune(strings.TrimPrefix(m.name, "is"))
	if m.isGetter("get") || m.isSetter() {
		name = []rune(m.name[len("get"):])
	}
	switch {
	case !unicode.IsUpper(name[0]):
		return ""
	case len(name) == 1 || !unicode.IsUpper(name[1]):
		name[0] = unicode.ToLower(name[0])
	}
	return string(name)
}

// flags returns what Jackson 2 writes besides the fields of a class: what its own methods return, and those of
// its interfaces, as far as find has them.
func (c *class) flags(find func(name string) (*class, error)) (all []codec.JavaFlag) {
	if c.isEnum() || c.access&accInterface != 0 {
		return nil
	}
	for _, m := range c.methods {
		if m.isGetter("is") && m.hasCode {
			all = append(all, codec.JavaFlag{Property: m.property(), Field: c.returned(m)})
		}
	}
	for _, m := range c.inherited(find, func(m member) bool { return m.isGetter("is") }, map[string]bool{}) {
		if !slices.ContainsFunc(all, func(f codec.JavaFlag) bool { return f.Property == m.property() }) {
			all = append(all, codec.JavaFlag{Property: m.property()})
		}
	}
	slices.SortFunc(all, func(a, b codec.JavaFlag) int { return strings.Compare(a.Property, b.Property) })
	return all
}

// inherited returns the methods of interfaces that have a body, of those that are wanted. Interfaces that were seen are
// left out.
func (c *class) inherited(find func(name string) (*class, error), wanted func(member) bool, seen map[string]bool) (all []member) {
	for _, name := range c.interfaces {
		above, err := find(name)
		if err != nil || seen[name] {
			continue // of the JDK, or of another jar
		}
		seen[name] = true
		all = append(all, slices.DeleteFunc(slices.Clone(above.methods), func(m member) bool { return !wanted(m) || !m.hasCode })...)
		all = append(all, above.inherited(find, wanted, seen)...)
	}
	return all
}

// returned returns the field that a method returns and does no more; "" for any other.
func (c *class) returned(m member) string {
	for _, f := range c.fields {
		if m.returns == [2]string{c.name, f.name} && f.access&(accStatic|accTransient) == 0 {
			return f.name
		}
	}
	return ""
}

// beans says what Jackson 3 writes or reads of a class in another way than by its fields: it goes by public fields and
// getters, and by setters, by the toString method of an enum, and leaves final fields as the constructor without parameters
// sets them.
func (c *class) beans(find func(name string) (*class, error)) (all []string) {
	if c.isEnum() {
		if slices.ContainsFunc(c.methods, func(m member) bool { return m.name+m.descriptor == "toString()Ljava/lang/String;" }) {
			return []string{"toString()"}
		}
		return nil
	}
	if c.isRecord() || c.access&accInterface != 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range c.methods {
		if !m.isGetter("get") && !m.isGetter("is") || !m.hasCode || m.bean() == "" {
			continue
		}
		if seen[m.bean()] = true; c.returned(m) != m.bean() {
			all = append(all, m.name+"()")
		}
	}
	isInherited := func(m member) bool {
		return (m.isGetter("get") || m.isGetter("is")) && m.bean() != "" && !c.overrides(m, find, 0)
	}
	for _, m := range c.inherited(find, isInherited, map[string]bool{}) {
		all = append(all, m.name+"()") // of an interface, which has no field to return
	}
	for _, f := range c.fields {
		isOwn := f.access&(accStatic|accTransient) == 0
		if isOwn && f.access&accPublic == 0 && !seen[f.name] || isOwn && f.access&accFinal != 0 && c.hasDefault() {
			all = append(all, f.name)
		}
	}
	all = append(all, c.setters(find)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// overrides reports whether a class or one that it extends has a method of its own for one of an interface.
func (c *class) overrides(m member, find func(name string) (*class, error), depth int) bool {
	if slices.ContainsFunc(c.methods, func(own member) bool { return own.name == m.name && own.descriptor == m.descriptor }) {
		return true
	}
	above, err := find(c.super)
	return err == nil && depth <= maxNested && above.overrides(m, find, depth+1)
}

// setters returns those of fields that do anything but store what they are given, of the same type.
func (c *class) setters(find func(name string) (*class, error)) (all []string) {
	isWanted := func(m member) bool {
		isOverridden := func(own member) bool { return own.name == m.name && own.descriptor == m.descriptor }
		return m.isSetter() && !slices.ContainsFunc(c.methods, isOverridden)
	}
	for _, m := range append(c.inherited(find, isWanted, map[string]bool{}), c.methods...) {
		if !m.isSetter() || !m.hasCode || m.bean() == "" {
			continue
		}
		f, is := c.field(m.bean(), find, 0)
		takes := func(field, method string) bool { return strings.HasPrefix(method, "("+field+")") || field+method == "" }
		if is && (m.stores != f.name || !takes(f.descriptor, m.descriptor) || !takes(f.signature, m.signature)) {
			all = append(all, m.name+"()")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// field returns the field of a name that objects of the class have.
func (c *class) field(name string, find func(name string) (*class, error), depth int) (member, bool) {
	for _, f := range c.fields {
		if f.name == name && f.access&(accStatic|accTransient) == 0 {
			return f, true
		}
	}
	above, err := find(c.super)
	if err != nil || depth > maxNested {
		return member{}, false
	}
	return above.field(name, find, depth+1)
}
