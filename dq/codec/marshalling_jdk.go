package codec

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
)

var riverBoxes = map[reflect.Type]byte{
	reflect.TypeFor[int8](): riverByte, reflect.TypeFor[int16](): riverShort, reflect.TypeFor[uint16](): riverChar,
	reflect.TypeFor[int32](): riverInteger, reflect.TypeFor[int64](): riverLong,
	reflect.TypeFor[float32](): riverFloat, reflect.TypeFor[float64](): riverDouble,
}

// repeated writes a reference and reports true, if what has that key was written
// before.
func (w *riverWriter) repeated(key string) bool {
	first, known := w.known[key]
	if known && w.naming != nil {
		w.ones[w.naming] = first
	}
	if known {
		w.repeat(first-w.instances, first, riverRepeatNear, riverRepeatFar)
	}
	return known
}

// zoned writes a ZonedDateTime, whose writeUTF has the length in 32 bits here.
func (w *riverWriter) zoned(at ZonedDateTime) error {
	wideUTF := func(dst []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint32(dst, uint32(len(s))), s...)
	}
	return w.record(&record{chain: hierarchyOf(jdkTime), data: []any{block(timeBytes(at, wideUTF))}}, "")
}

func (w *riverWriter) constant(c constant) {
	key := "constant " + c.of.name + " " + c.name
	if w.repeated(key) {
		return
	}
	w.byte(riverNew)
	w.class(&riverClass{code: riverEnumClass, name: c.of.name})
	w.plainText(c.name)
	w.known[key] = w.instances
	w.assign()
}

func (w *riverWriter) shared(one shared) error {
	if w.repeated(one.key) {
		return nil
	}
	if text, is := one.value.(string); is {
		if text != "" { // which is no instance
			w.known[one.key] = w.instances
		}
		w.text(text)
		return nil
	}
	return w.record(jdkRecord(one.value), one.key)
}

func (w *riverWriter) array(e *elements) error {
	if len(e.all) == 0 {
		w.byte(riverArrayEmpty)
	} else {
		w.sized(riverArray, len(e.all))
	}
	if err := w.arrayOf(e); err != nil {
		return err
	}
	w.assign()
	if e.elem.kind == kindBool && e.elem.isPrimitive() {
		w.bits(e.all)
		return nil
	}
	for _, element := range e.all {
		if err := w.field(element, e.elem.isPrimitive()); err != nil {
			return err
		}
	}
	return nil
}

// bits writes booleans, eight in a byte.
func (w *riverWriter) bits(all []any) {
	data := make([]byte, (len(all)+7)/8)
	for i, bit := range all {
		data[i/8] |= boolByte(bit == true) << (i % 8)
	}
	w.byte(data...)
}

// record writes an object of the JDK; key is empty, or what it is to be known by.
func (w *riverWriter) record(r *record, key string) error {
	w.byte(riverNew)
	w.class(riverClassOf(r.chain))
	if key != "" {
		w.known[key] = w.instances
	}
	w.assign()
	next := 0
	for i := len(r.chain) - 1; i >= 0; i-- {
		level := r.chain[i]
		for _, j := range byName(level.fields) {
			if err := w.field(r.fields[next+j], level.fields[j].signature == ""); err != nil {
				return err
			}
		}
		next += len(level.fields)
		if level.flags&(scWriteMethod|scExternalizable) != 0 {
			if err := w.content(r.data); err != nil {
				return err
			}
		}
	}
	return nil
}

// content writes what a class writes of its own.
func (w *riverWriter) content(data []any) error {
	for _, item := range data {
		if b, is := item.(block); is {
			w.byte(riverBlockSmall, byte(len(b)))
			w.byte(b...)
		} else if err := w.value(item); err != nil {
			return err
		}
	}
	w.byte(riverEndBlock)
	return nil
}

// byName returns the numbers of fields, sorted by name.
func byName(fields []serialField) []int {
	order := make([]int, len(fields))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(fields[a].name, fields[b].name) })
	return order
}

// riverClassOf returns how the first of chain is described.
func riverClassOf(chain []*serialClass) *riverClass {
	if len(chain) == 0 {
		return nil
	}
	c := &riverClass{code: riverSerializable, name: chain[0].name, uid: chain[0].uid}
	switch {
	case chain[0].flags&scExternalizable != 0:
		c.code = riverExternalizable
		return c
	case chain[0].flags&scWriteMethod != 0:
		c.code = riverWriteObject
	}
	for _, i := range byName(chain[0].fields) {
		f := chain[0].fields[i]
		code := byte(riverObjectClass)
		if f.signature == "" {
			code = riverPrimitives[string(f.code)]
		}
		c.fields = append(c.fields, riverField{f.name, code})
	}
	c.super = riverClassOf(chain[1:])
	return c
}

// arrayOf writes the class of the elements of an array.
func (w *riverWriter) arrayOf(e *elements) error {
	j := e.elem
	name := j.className()
	code, hasCode := riverCodes[name]
	jdk := jdkClasses[name]
	switch {
	case hasCode:
		w.byte(code)
	case j.kind == kindObject:
		c, _, err := riverClassFor(&object{class: j.class, without: e.without})
		if err != nil {
			return err
		}
		w.class(c)
	case j.kind == kindEnum:
		w.class(&riverClass{code: riverEnumClass, name: name})
	case jdk != nil:
		w.class(riverClassOf(hierarchyOf(jdk)))
	default:
		return &ValueError{NameMarshalling, "an array of " + name + ", which is not written here; use a List on both sides"}
	}
	return nil
}
