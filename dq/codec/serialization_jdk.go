package codec

// boxed writes a number, a character or a boolean as an object.
func (w *serialWriter) boxed(value any) {
	var class *serialClass
	var cached bool
	var n int64
	switch value := value.(type) {
	case bool:
		class, n, cached = jdkBoolean, int64(boolByte(value)), true
	case int8:
		class, n, cached = jdkByte, int64(value), true
	case int16:
		class, n, cached = jdkShort, int64(value), isCached(int64(value))
	case uint16:
		class, n, cached = jdkCharacter, int64(value), isCached(int64(value))
	case int32:
		class, n, cached = jdkInteger, int64(value), isCached(int64(value))
	case int64:
		class, n, cached = jdkLong, value, isCached(value)
	case float32:
		class = jdkFloat
	case float64:
		class = jdkDouble
	}
	if w.box(class, n, cached) {
		w.buf = appendPrimitive(w.buf, value)
	}
}

func (w *serialWriter) constant(c constant) {
	key := "constant " + c.of.name + " " + c.name
	if w.refer(key) {
		return
	}
	w.open(tcEnum, &serialClass{name: c.of.name, flags: scSerializable | scEnum, super: jdkEnum}, key)
	w.text(c.name, "")
}

func (w *serialWriter) array(e *elements) error {
	w.open(tcArray, arrayClass(e.class), "")
	w.int32(int32(len(e.all)))
	for _, element := range e.all {
		if err := w.member(element, e.elem.isPrimitive()); err != nil {
			return err
		}
	}
	return nil
}

// member writes a field or an element.
func (w *serialWriter) member(value any, isPrimitive bool) error {
	if isPrimitive {
		w.buf = appendPrimitive(w.buf, value)
		return nil
	}
	return w.value(value)
}

// record writes an object of the JDK; key is empty, or what its handle is to be
// found by.
func (w *serialWriter) record(r *record, key string) error {
	w.open(tcObject, r.chain[0], key)
	next := 0
	for i := len(r.chain) - 1; i >= 0; i-- {
		level := r.chain[i]
		for _, f := range level.fields {
			if err := w.member(r.fields[next], f.signature == ""); err != nil {
				return err
			}
			next++
		}
		if level.flags&(scWriteMethod|scExternalizable) == 0 {
			continue
		}
		for _, item := range r.data {
			if b, is := item.(block); is {
				w.byte(tcBlockData, byte(len(b)))
				w.byte(b...)
			} else if err := w.value(item); err != nil {
				return err
			}
		}
		w.byte(tcEndBlockData)
	}
	return nil
}

func (w *serialWriter) shared(one shared) error {
	key := "shared " + one.key
	if w.refer(key) {
		return nil
	}
	if text, is := one.value.(string); is {
		w.text(text, key)
		return nil
	}
	return w.record(jdkRecord(one.value), key)
}
