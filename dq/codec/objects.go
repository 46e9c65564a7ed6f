package codec

// objectReader is what the readers of Serialization and Marshalling have in common: both
// hold objects as their classes wrote them, each class apart, in bytes of their own.
type objectReader struct {
	reader
	registry  *registry
	instances []any // what references refer to
	// places counts in how many places an instance is that values refer to, by number, so far, and shared has
	// those that are in several, where that is known before. described are the texts of descriptions.
	places            map[int]int
	shared, described map[int]bool
	describing        bool    // see describe
	lessons           lessons // see assemble
}

func newObjectReader(name Name, data []byte, g *registry) objectReader {
	return objectReader{reader: reader{codec: name, data: data, exact: g.isExact()}, registry: g, lessons: newLessons(), places: map[int]int{}, described: map[int]bool{}}
}

// objectStream is one of the two readers.
type objectStream interface {
	// document reads all of the bytes.
	document() (any, error)
	// described returns the descriptions of classes that came.
	described() []*serialClass
	// again returns the reader of the same bytes that keeps the instances which this one has found, nil
	// where there are none to keep.
	again() objectStream
	learn()
}

// openObjects returns the reader of a codec, and false for others than the two.
func openObjects(name Name, data []byte, g *registry) (objectStream, bool) {
	switch name {
	case NameSerialization:
		return newSerialReader(data, g), true
	case NameMarshalling:
		return newRiverReader(data, g), true
	}
	return nil, false
}

// decodeObjects reads a value, and has the registry learn what its classes told.
func decodeObjects(s objectStream) (any, error) {
	value, err := s.document()
	if again := s.again(); err == nil && again != nil {
		value, err = again.document()
	}
	if err != nil {
		return nil, err
	}
	s.learn()
	return value, nil
}

func (r *objectReader) learn() { r.registry.learn(r.lessons) }

// assign gives a value the next number.
func (r *objectReader) assign(value any) int {
	if r.describing {
		r.described[len(r.instances)] = true
	}
	if r.shared[len(r.instances)] {
		value = &instance{value}
	}
	r.instances = append(r.instances, value)
	return len(r.instances) - 1
}

// serializable reads what each class of an object wrote, by the methods of its reader.
func (r *objectReader) serializable(c *serialClass, field func(serialField) any, content func(*record)) *record {
	rec := &record{chain: r.hierarchy(c)}
	for i := len(rec.chain) - 1; i >= 0; i-- {
		for _, f := range rec.chain[i].fields {
			rec.fields = append(rec.fields, field(f))
		}
		if rec.chain[i].flags&scWriteMethod != 0 {
			content(rec)
		}
	}
	return rec
}

// resolve returns what a record stands for, which is known by the number from then on.
func (r *objectReader) resolve(number int, rec *record) any {
	if r.err != nil {
		return nil
	}
	return r.become(number, r.registry.resolve(rec, r.lessons))
}
