package codec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

const (
	// maxAdvised bounds the bytes that are read again for advice, and maxTries how
	// often.
	maxAdvised = 1 << 14
	maxTries   = 100
)

// adviseFinal says what may be wrong with a field that is declared any, whose value could
// not be read: of a final class Kryo writes no name.
func adviseFinal(err error, typ *javaType) string {
	if _, own := err.(*FormatError); own && typ.kind == kindAny { //nolint:errorlint // one that no field further in has
		return "; the struct declares it any: where Java declares a final class, such as a record, the bytes do not name it, and the struct must declare what stands for it"
	}
	return ""
}

// adviseBoxes says which field would make data readable if it were boxed, or were
// not, the mistake that is made most: Kryo tells the two apart by nothing but the
// declaration.
func adviseBoxes(data []byte, g *registry) string {
	if len(data) > maxAdvised {
		return ""
	}
	unboxed := map[*field]bool{}
	tries := 0
	for _, name := range slices.Sorted(maps.Keys(g.byName)) {
		c := g.byName[name]
		for i := range c.fields {
			f := &c.fields[i]
			p, is := primitives[f.typ.kind]
			if !is || tries == maxTries {
				continue
			}
			tries++
			unboxed[f] = f.typ.isPrimitive()
			if _, err := readKryo(data, g, map[*field]bool{f: true}); err != nil {
				continue
			}
			if f.typ.isPrimitive() {
				box := strings.TrimPrefix(p.box, "java.lang.")
				return fmt.Sprintf("the bytes fit if the field %s of %s is a %s in Java: tag it `java:%q`", f.name, name, box, box)
			}
			return fmt.Sprintf("the bytes fit if the field %s of %s is no %s in Java, but the primitive: take its tag or pointer away", f.name, name, p.box)
		}
	}
	if _, err := readKryo(data, g, unboxed); err == nil {
		return "the bytes fit if all numbers of the struct are boxed in Java, such as Long: tag them `java:\"Long\"`"
	}
	return ""
}

// adviseEnums names the string types that may be enums: without a Class they are taken for texts, of which Kryo writes
// other bytes.
func adviseEnums(g *registry) string {
	var all []string
	for t, j := range g.types {
		if t.Kind() == reflect.String && t.PkgPath() != "" && j.kind == kindString {
			all = append(all, t.String())
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return fmt.Sprintf("where %s stands for an enum of Java, give the constructor a Class of it, with its Name and Constants: without that it is a text", strings.Join(all, " or "))
}
