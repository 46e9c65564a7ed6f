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

// property is how Jackson 2 names what isURLSafe returns: urlsafe.
func (m member) property() string {
	name := []rune(strings.TrimPrefix(m.name, "is"))
	for i := 0; i < len(name) && unicode.ToLower(name[i]) != name[i]; i++ {
		name[i] = unicode.ToLower(name[i])
	}
	return string(name)
}

// bean is how Jackson 3 names what a getter returns, as beans do: URLSafe, active; "" for none.
func (m member) bean() string {
	name := []rune(strings.TrimPrefix(m.name, "is"))
	if m.isGetter("get") {
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
	for _, m := range c.inherited(find, 0) {
		if !slices.ContainsFunc(all, func(f codec.JavaFlag) bool { return f.Property == m.property() }) {
			all = append(all, codec.JavaFlag{Property: m.property()})
		}
	}
	slices.SortFunc(all, func(a, b codec.JavaFlag) int { return strings.Compare(a.Property, b.Property) })
	return all
}

// inherited returns the methods of interfaces that have a body.
func (c *class) inherited(find func(name string) (*class, error), depth int) (all []member) {
	if depth > maxNested {
		return nil // one that extends itself
	}
	for _, name := range c.interfaces {
		above, err := find(name)
		if err != nil {
			continue // of the JDK, or of another jar
		}
		all = append(all, slices.DeleteFunc(slices.Clone(above.methods), func(m member) bool { return !m.isGetter("is") || !m.hasCode })...)
		all = append(all, above.inherited(find, depth+1)...)
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
// getters, by the toString method of an enum, and leaves final fields as the constructor without parameters sets them.
func (c *class) beans() (all []string) {
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
	for _, f := range c.fields {
		isOwn := f.access&(accStatic|accTransient) == 0
		if isOwn && f.access&accPublic == 0 && !seen[f.name] || isOwn && f.access&accFinal != 0 && c.hasDefault() {
			all = append(all, f.name)
		}
	}
	slices.Sort(all)
	return all
}
