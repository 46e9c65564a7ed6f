package classfile

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // the JDK derives serialVersionUIDs from it
	"encoding/binary"
	"slices"
	"strings"
)

// serialVersionUID returns the one that the class declares, or the one that the JDK
// computes.
func (c *class) serialVersionUID() int64 {
	for _, f := range c.fields {
		if f.name == "serialVersionUID" && f.descriptor == "J" && f.access&(accStatic|accFinal) == accStatic|accFinal {
			return f.constant
		}
	}
	if c.isRecord() || c.isEnum() {
		return 0
	}
	return c.computedUID()
}

// computedUID is section 4.6 of the Java Object Serialization Specification.
func (c *class) computedUID() int64 {
	var b shape
	b.text(c.name)
	b.number(c.access & (accPublic | accFinal | accInterface | accAbstract))
	for _, name := range slices.Sorted(slices.Values(c.interfaces)) {
		b.text(name)
	}
	b.fields(c.fields)
	b.methods(c.methods)
	sum := sha1.Sum(b) //nolint:gosec // see the import
	return int64(binary.LittleEndian.Uint64(sum[:]))
}

// shape is what a DataOutputStream writes of a class.
type shape []byte

func (b *shape) text(s string) {
	*b = append(binary.BigEndian.AppendUint16(*b, uint16(len(s))), s...)
}

func (b *shape) number(n uint16) { *b = binary.BigEndian.AppendUint32(*b, uint32(n)) }

func (b *shape) member(name string, access uint16, descriptor string) {
	b.text(name)
	b.number(access)
	b.text(descriptor)
}

func (b *shape) fields(fields []member) {
	for _, f := range slices.SortedFunc(slices.Values(fields), func(a, b member) int { return strings.Compare(a.name, b.name) }) {
		if f.access&accPrivate == 0 || f.access&(accStatic|accTransient) == 0 {
			b.member(f.name, f.access&(accPublic|accPrivate|accProtected|accStatic|accFinal|accVolatile|accTransient), f.descriptor)
		}
	}
}

// methods writes the static initializer, the constructors, and the methods: those that
// are not private, sorted by name and type.
func (b *shape) methods(methods []member) {
	sorted := slices.SortedFunc(slices.Values(methods), func(a, b member) int {
		return cmp.Or(cmp.Compare(rank(a.name), rank(b.name)), strings.Compare(a.name, b.name), strings.Compare(a.descriptor, b.descriptor))
	})
	for _, m := range sorted {
		switch {
		case rank(m.name) == 0:
			b.member(m.name, accStatic, m.descriptor)
		case m.access&accPrivate == 0:
			access := m.access & (accPublic | accProtected | accStatic | accFinal | accSync | accNative | accAbstract | accStrict)
			b.member(m.name, access, strings.ReplaceAll(m.descriptor, "/", "."))
		}
	}
}

func rank(method string) int {
	switch method {
	case "<clinit>":
		return 0
	case "<init>":
		return 1
	}
	return 2
}
