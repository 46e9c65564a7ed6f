package classfile

import (
	"slices"
	"strings"
)

// constructed says what the constructor without parameters leaves in an object: the fields in which it, and those that
// it calls by this(…) and super(…), store values, and whether they may do so in any other. A record is made by another.
func (c *class) constructed(find func(name string) (*class, error)) (defaults []string, opaque bool) {
	if c.isRecord() || c.isEnum() || c.access&accInterface != 0 || !c.hasDefault() {
		return nil, false
	}
	m := making{find: find, budget: maxMaking}
	m.construct(c, "()V", nil)
	slices.Sort(m.defaults)
	return slices.Compact(m.defaults), m.opaque
}

// making follows the constructors that make one object.
type making struct {
	find     func(name string) (*class, error)
	defaults []string
	// opaque says that one does more with the object than store values in its fields, or cannot be followed.
	opaque bool
	depth  int
	budget int
}

// maxMaking bounds how many places of the stack and variables are looked at, again for each instruction.
const maxMaking = 1 << 21

// construct follows a constructor, which is given what is on the stack.
func (m *making) construct(c *class, descriptor string, given []held) {
	i := slices.IndexFunc(c.methods, func(of member) bool { return of.name == initName && of.descriptor == descriptor })
	if i < 0 || c.methods[i].code == nil || m.depth > maxNested {
		m.opaque = true
		return
	}
	m.depth++
	defer func() { m.depth-- }()
	code := c.methods[i].code
	if code.variables <= len(given) {
		m.opaque = true
		return
	}
	variables := make([]held, code.variables)
	copy(variables[1:], given)
	variables[0] = self
	w := walk{code: code, of: c, making: m, states: map[int]*frame{}}
	w.join(0, frame{variables: variables})
	for len(w.open) > 0 && !m.opaque {
		at := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		w.step(at, w.states[at].clone())
	}
}

// constructs follows the constructor that one of c calls for the same object.
func (m *making) constructs(c *class, to reference, given []held) {
	switch {
	case to.name != initName:
		m.opaque = true
	case to.class == c.name:
		m.construct(c, to.descriptor, given)
	case to.class != c.super:
		m.opaque = true
	case to.class != "java.lang.Object":
		above, err := m.find(to.class)
		if err != nil {
			m.opaque = true
			return
		}
		m.construct(above, to.descriptor, given)
	}
}

const (
	initName      = "<init>"
	maxParameters = 255 // and dimensions of an array
)

// places returns how many places of the stack the parameters of a method and its result take; false for no descriptor.
func places(descriptor string) (parameters, result int, ok bool) {
	inside, after, found := strings.Cut(strings.TrimPrefix(descriptor, "("), ")")
	if !found || after == "" {
		return 0, 0, false
	}
	for inside != "" {
		length := lengthOf(inside)
		if length == 0 || parameters > maxParameters {
			return 0, 0, false
		}
		parameters += width(inside)
		inside = inside[length:]
	}
	return parameters, width(after), true
}

// lengthOf returns how long the first type of a descriptor is; 0 for none.
func lengthOf(descriptor string) int {
	element := strings.TrimLeft(descriptor, "[")
	dimensions := len(descriptor) - len(element)
	switch {
	case element == "" || dimensions > maxParameters:
		return 0
	case element[0] == 'L':
		return dimensions + strings.IndexByte(element, ';') + 1
	}
	return dimensions + 1
}

// width returns how many places of the stack a value of a type takes.
func width(descriptor string) int {
	switch {
	case descriptor == "" || descriptor[0] == 'V':
		return 0
	case descriptor[0] == 'J' || descriptor[0] == 'D':
		return 2
	}
	return 1
}
