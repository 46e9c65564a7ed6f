package codec

// assembly puts the fields that bytes hold class by class into an object.
type assembly struct {
	object *object
	chain  []*serialClass // the class in the bytes and its super classes
	// owners has, for each class of chain, the one that takes its fields: the same,
	// or the nearest subclass that has a struct.
	owners  []*class
	present map[*class]bool
	// misplaced has, by field of object, the super class in which the bytes have it
	// and the struct has not.
	misplaced map[int]string
	lessons   lessons
	taken     map[*class]bool // super classes that the bytes lack, whose fields a subclass had there
	matched   bool            // whether the struct has any of the fields
}

// assemble starts an object of class c. What its struct lacks of the super classes
// in chain, and what that lacks of them, goes into lessons.
func assemble(c *class, chain []*serialClass, all lessons) *assembly {
	a := &assembly{
		object:  &object{class: c, fields: make([]any, len(c.fields))},
		chain:   chain,
		owners:  make([]*class, len(chain)),
		present: map[*class]bool{},
		lessons: all,
		taken:   map[*class]bool{},
	}
	owner := c
	for i, level := range chain {
		if own := c.ancestor(level.name); own != nil {
			owner = own
			a.present[own] = true
		} else if len(level.fields) > 0 {
			a.lacks(owner, superClass{name: level.name})
		}
		a.owners[i] = owner
	}
	return a
}

func (a *assembly) lacks(c *class, super superClass) {
	if _, known := a.lessons.lacking[c.name]; !known {
		a.lessons.lacking[c.name] = super
	}
}

// set stores a field of class number level of the chain; the topmost comes first.
// One that the struct of that class lacks goes to a super class which the bytes
// lack, since they may be older than it, or else to a subclass.
func (a *assembly) set(level int, name string, value any) {
	owner := a.owners[level]
	own, above, below := -1, -1, -1
	for i, f := range a.object.class.fields {
		switch {
		case f.name != name:
		case f.of == owner:
			own = i
		case owner.ancestor(f.of.name) == nil:
			below = i
		case above < 0 && !a.present[f.of]:
			above = i
		}
	}
	a.matched = a.matched || own >= 0 || above >= 0 || below >= 0
	switch {
	case own >= 0:
		a.object.fields[own] = value
		delete(a.misplaced, own)
	case above >= 0:
		a.object.fields[above] = value
		a.taken[a.object.class.fields[above].of] = true
	case below >= 0:
		a.object.fields[below] = value
		if a.misplaced == nil {
			a.misplaced = map[int]string{}
		}
		a.misplaced[below] = a.chain[level].name
	}
}

// finish returns the object.
func (a *assembly) finish() *object {
	for i, super := range a.misplaced {
		f := a.object.class.fields[i]
		a.lacks(f.of, superClass{name: super, field: f.name})
	}
	a.compareSupers()
	return a.object
}

// compareSupers notes which super classes of the struct the bytes have, and which they lack. Where a subclass
// had fields of it, a struct that embeds none wrote them.
func (a *assembly) compareSupers() {
	c := a.object.class
	if a.chain[0].flags&scSerializable == 0 {
		return // it wrote all by itself
	}
	for level := c.super; level != nil; level = level.super {
		of := inheritance{c.name, level.name}
		switch {
		case a.present[level]:
			a.lessons.absent[of] = false
		case !a.taken[level]:
			if _, known := a.lessons.absent[of]; !known {
				a.lessons.absent[of] = true
			}
		}
	}
}
