package codec

import (
	"cmp"
	"fmt"
	"reflect"
)

func (kryoFormat) decode(data []byte, g *registry, _ *javaType) (any, error) {
	value, err := readKryo(data, g, nil)
	if err != nil {
		if advice := cmp.Or(adviseBoxes(data, g), adviseEnums(g)); advice != "" {
			err = fmt.Errorf("%w; %s", err, advice)
		}
	}
	return value, err
}

// readKryo reads a value; the fields in swapped are taken for boxed where they are
// declared not to be, and the other way round.
func readKryo(data []byte, g *registry, swapped map[*field]bool) (any, error) {
	read := func(form atomicForm) (value any, hasAtomic bool, err error) {
		k := kryoReader{reader: reader{codec: NameKryo5, data: data, exact: g.isExact()}, registry: g, swapped: swapped, atomics: form}
		if swapped != nil {
			k.free = maxShared - maxAdvised // for advice bytes are read many times
		}
		value = k.classAndObject()
		return value, k.hasAtomic, k.end()
	}
	value, hasAtomic, err := read(atomicOfFields)
	if !hasAtomic {
		return value, err
	}
	other, _, otherErr := read(atomicFixed)
	switch {
	case otherErr != nil:
		return value, err
	case err != nil:
		return other, otherErr
	case reflect.DeepEqual(value, other):
		return value, err
	}
	_, _, err = read(atomicRefused)
	return nil, err
}

type kryoReader struct {
	reader
	registry *registry
	names    []string
	swapped  map[*field]bool // see readKryo
	bound    bool            // see kryoWriter
	scope    kryoScope
	// atomics is how AtomicLong and its like are taken to be written, hasAtomic whether there
	// are any.
	atomics   atomicForm
	hasAtomic bool
}

func (r *kryoReader) class() kryoType {
	id := r.varint()
	switch known, ok := kryoIDs[id]; {
	case ok:
		return kryoType{kind: known}
	case id == kryoNull:
		return kryoType{null: true}
	case id == kryoNamed:
		return r.named()
	}
	r.fail("class id %d, expected one of a number, String, Boolean, Character or a name", id)
	return kryoType{null: true}
}

func (r *kryoReader) named() kryoType {
	index := r.varint()
	if index == uint64(len(r.names)) {
		r.names = append(r.names, r.text())
	}
	if index >= uint64(len(r.names)) {
		r.fail("class name number %d, but only %d came", index, len(r.names))
	}
	if r.err != nil {
		return kryoType{null: true}
	}
	name := r.names[index]
	if t, known := kryoTypes[name]; known {
		return t
	}
	if class := r.registry.class(name); class != nil {
		return kryoType{kind: kindObject, class: class}
	}
	if enum := r.registry.enum(name); enum != nil {
		return kryoType{kind: kindEnum, enum: enum}
	}
	if t, ok := r.arrayType(name); ok {
		return t
	}
	r.err = r.registry.unknown(name)
	return kryoType{null: true}
}

func (r *kryoReader) varint() uint64 {
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return uint64(uint32(n))
		}
	}
	r.fail("a number of more than 5 bytes")
	return 0
}

func (r *kryoReader) long() int64 {
	n := r.varlong()
	return int64(n>>1) ^ -int64(n&1)
}

// varlong reads 9 bytes at most: the ninth has eight bits.
func (r *kryoReader) varlong() uint64 {
	var n uint64
	for shift := 0; shift < 56; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	return n | uint64(r.byte())<<56
}

// flag reads a boolean. Any other byte shows that a value of another type came.
func (r *kryoReader) flag() bool {
	b := r.byte()
	if b > 1 {
		r.at--
		r.fail("expected 0 or 1, a boolean or whether there is a value, got 0x%02x", b)
	}
	return b == 1
}

func (r *kryoReader) flagged() (flag bool, n int) {
	first := r.byte()
	n = int(first & 0x3f)
	if first&0x40 != 0 {
		n |= int(r.varint()) << 6
	}
	return first&0x80 != 0, int(int32(n))
}

// text returns "" for null too, which only stringOrNull tells apart.
func (r *kryoReader) text() string {
	s, _ := r.stringOrNull().(string)
	return s
}

func (r *kryoReader) stringOrNull() any {
	if r.err != nil {
		return nil
	}
	if r.left() > 0 && r.data[r.at]&0x80 == 0 {
		return r.ascii()
	}
	_, n := r.flagged()
	if n == 0 {
		return nil
	}
	return r.readUnits(r.count(n - 1))
}

// ascii reads to the byte that has its top bit set.
func (r *kryoReader) ascii() string {
	for i, b := range r.data[r.at:] {
		if b&0x80 != 0 {
			text := append([]byte{}, r.take(i+1)...)
			text[i] = b & 0x7f
			return string(text)
		}
	}
	r.cut("a text without an end")
	return ""
}

func (r *kryoReader) classAndObject() any { return r.classAndObjectOf(nil) }

// classAndObjectOf reads a value that is declared as j, or nil for nothing.
func (r *kryoReader) classAndObjectOf(j *javaType) any {
	t := r.class()
	if t.null || r.err != nil {
		return nil
	}
	return r.object(t, j)
}

// object reads a value of a known class, which is not null; j is what a field
// declares of its elements.
func (r *kryoReader) object(t kryoType, j *javaType) any {
	if !r.enter() {
		return nil
	}
	defer r.leave()
	switch t.kind {
	case kindString:
		return r.stringOrNull()
	case kindInt:
		return r.zigzag()
	case kindLong:
		return r.long()
	case kindBool:
		return r.flag()
	case kindBytes:
		if n := int(r.varint()); n > 0 {
			return append([]byte{}, r.take(n-1)...)
		}
		return nil
	case kindList:
		return r.list(t, j)
	case kindMap:
		return r.mapping(t, j)
	case kindObject:
		return r.fields(t.class, j)
	case kindEnum:
		return r.constant(t.enum)
	case kindOptional:
		return optional{r.classAndObject()}
	}
	return r.scalar(t.kind)
}

func (r *kryoReader) fields(class *class, j *javaType) any {
	outer, bound := r.bound, class.isBoundBy(j)
	if class.isDeclaredBy(j) {
		class = j.class // of several that stand for a generic class
	}
	if wrong := cmp.Or(class.nests(NameKryo5, bound), r.scope.misleads(class, bound)); wrong != "" && r.err == nil {
		r.err = &ValueError{r.codec, "the value holds " + wrong}
	}
	defer r.scope.enter(class, bound)()
	defer func() { r.bound = outer }()
	if len(class.fields) == 0 {
		r.spend(1)
	}
	if untold := r.registry.untold(class, j); untold != "" && r.err == nil {
		r.err = &ValueError{r.codec, "the value holds " + untold}
	}
	if lacking := class.lacking(); lacking != nil && r.err == nil {
		r.err = &ValueError{r.codec, fmt.Sprintf("the value holds a %s, and %v leaves out its field %q: Kryo5 names no fields, so that those behind it would be read from its bytes", class.name, lacking.goType, lacking.lacks[0])}
	}
	o := &object{class: class, fields: make([]any, len(class.fields))}
	for i := range class.fields {
		f := &class.fields[i]
		typ := f.typ
		if r.swapped[f] {
			typ = &javaType{kind: typ.kind, boxed: !typ.boxed}
		}
		before := r.err
		r.bound = f.binding.isKnown(bound)
		if class.record {
			o.fields[i] = r.component(typ)
		} else {
			o.fields[i] = r.field(typ)
		}
		if before == nil && r.err != nil {
			r.err = fmt.Errorf("field %s of %s: %w%s", f.name, class.name, r.err, adviseFinal(r.err, typ))
		}
	}
	return o
}

func (r *kryoReader) constant(of *enum) any {
	n := r.varint()
	switch {
	case n == 0:
		return nil
	case n > uint64(len(of.constants)):
		r.fail("constant number %d of the enum %s, whose Class has %d", n, of.name, len(of.constants))
		return nil
	}
	return constant{of, of.constants[n-1]}
}

// acceptsNull tells the classes whose serializer has a null of its own.
func acceptsNull(k kind) bool {
	switch k {
	case kindString, kindBytes, kindList, kindMap, kindEnum, kindBigInteger, kindDecimal, kindCurrency:
		return true
	}
	return false
}

func (r *kryoReader) orNull(t kryoType, j *javaType) any {
	if !acceptsNull(t.kind) && !r.flag() {
		return nil
	}
	return r.object(t, j)
}

// declaredType returns the type of a value whose class its declaration tells.
func declaredType(j *javaType) kryoType {
	t := kryoType{kind: j.kind, class: j.class, enum: j.enum}
	if j.isArray() {
		t.list, t.elem = j.className(), j.elem
	}
	return t
}

func (r *kryoReader) field(j *javaType) any {
	j = j.known(r.bound)
	switch {
	case j == nil:
		return r.classAndObject()
	case j.unsure != "":
		if r.byte() != kryoNull && r.err == nil {
			r.err = &ValueError{r.codec, "the value holds a " + j.declared + ": " + j.unsure}
		}
		return nil
	case j.isPrimitive():
		return r.object(declaredType(j), nil)
	case j.isFinal():
		return r.orNull(declaredType(j), j.arguments())
	}
	return r.classAndObjectOf(j)
}

// component reads a component of a record: see kryoWriter.
func (r *kryoReader) component(j *javaType) any {
	if j.param {
		return r.classAndObject()
	}
	return r.inArray(j)
}

// inArray reads an element of an array: see kryoWriter.
func (r *kryoReader) inArray(j *javaType) any {
	switch {
	case j.unsure != "" || j.isPrimitive():
		return r.field(j)
	case j.isFinal():
		return r.orNull(declaredType(j), nil)
	}
	return r.classAndObject()
}
