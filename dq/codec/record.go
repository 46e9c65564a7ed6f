package codec

import "fmt"

// record is an object of Java as Marshalling and Serialization hold it: what its
// classes wrote, before it is known what it stands for. What nobody asks for is
// skipped by this structure.
type record struct {
	chain []*serialClass // the class and its super classes
	// fields has the values of the fields of all classes, the topmost class first.
	fields []any
	// data is what writeObject and writeExternal methods wrote besides: values and
	// blocks.
	data []any
}

// block is a piece of bytes that a class wrote itself.
type block []byte

// hierarchy returns a class and its super classes. References can make it longer
// than the bytes that wrote it.
func (r *reader) hierarchy(c *serialClass) []*serialClass {
	var chain []*serialClass
	for ; c != nil; c = c.super {
		chain = append(chain, c)
		if len(chain) > maxDepth {
			r.fail("a class with more than %d super classes", maxDepth-1)
			return nil
		}
	}
	return chain
}

// each gives all fields to set, with the number of their class in chain.
func (r *record) each(set func(class int, name string, value any)) {
	next := 0
	for i := len(r.chain) - 1; i >= 0; i-- {
		for _, f := range r.chain[i].fields {
			set(i, f.name, r.fields[next])
			next++
		}
	}
}

// field returns the field of that name; of two, that of the lower class.
func (r *record) field(name string) (value any) {
	r.each(func(_ int, other string, v any) {
		if other == name {
			value = v
		}
	})
	return unshared(value)
}

// content returns the bytes of all blocks, and all values.
func (r *record) content() (raw []byte, values []any) {
	for _, item := range r.data {
		if b, is := item.(block); is {
			raw = append(raw, b...)
		} else {
			values = append(values, item)
		}
	}
	return raw, values
}

// selfReference is what an object is while it is read.
func selfReference(class string) any {
	return foreign{class, "that holds itself, which has no place in Go"}
}

// resolve returns what a record stands for.
func (g *registry) resolve(r *record, all lessons) any {
	name := r.chain[0].name
	if value, known := jdkValue(name, r); known {
		if g.isExact() {
			value = exactly(name, r, value)
		}
		return value
	}
	c := g.class(name)
	switch {
	case c == nil && g.keepsRecords:
		return r
	case c == nil && g.model != nil:
		return foreign{name, g.model.problem(name)}
	case c == nil:
		return foreign{class: name}
	case len(r.data) > 0:
		return foreign{name, "whose writeObject method writes data of its own, which a struct has no place for"}
	}
	if g.isExact() {
		return r.exact(c)
	}
	a := assemble(c, r.chain, all)
	r.each(a.set)
	if len(r.fields) > 0 && len(c.fields) > 0 && !a.matched {
		return foreign{name, r.unmatched(c)}
	}
	return a.finish()
}

func (c *class) fieldNames() (names []string) {
	for _, f := range c.fields {
		names = append(names, f.name)
	}
	return names
}

// unmatched says that no field of a struct is among those that came.
func (r *record) unmatched(c *class) string {
	var came []string
	r.each(func(_ int, name string, _ any) { came = append(came, name) })
	return fmt.Sprintf("with the fields %.200q, of which %v has none, but %.200q; give its fields json tags with the names of Java's", came, c.goType, c.fieldNames())
}

// spoken says what is wrong with an enum in the JSON of Jackson 3.
const spoken = ", which has a toString method of its own: Jackson 3 writes and reads constants by it"

// enumConstant returns the constant of an enum.
func (g *registry) enumConstant(class, name string) any {
	of := g.enum(class)
	switch {
	case of == nil && g.keepsRecords:
		return constant{&enum{name: class}, name}
	case of == nil && g.model != nil:
		return foreign{class, g.model.problem(class)}
	case of == nil:
		return foreign{class: class}
	case of.noJSON && g.isJSON():
		return foreign{class, "a constant of an enum that " + annotated}
	case of.noJackson3 && g.codec.jackson3():
		return foreign{class, "a constant of an enum" + spoken}
	}
	c := constant{of, name}
	if c.ordinal() < 0 {
		return foreign{class, fmt.Sprintf("constant %.80q, which the Constants of its Class lack", name)}
	}
	return c
}
