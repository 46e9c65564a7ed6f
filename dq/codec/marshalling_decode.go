package codec

import "slices"

func (riverFormat) decode(data []byte, g *registry, _ *javaType) (any, error) {
	return decodeObjects(newRiverReader(data, g))
}

func newRiverReader(data []byte, g *registry) *riverReader {
	return &riverReader{objectReader: newObjectReader(NameMarshalling, data, g)}
}

func (r *riverReader) document() (any, error) {
	if version := r.byte(); r.err == nil && version != riverVersion {
		r.at = 0
		r.fail("expected version 4 of the river protocol, got 0x%02x", version)
	}
	value := r.value()
	return value, r.end()
}

func (r *riverReader) again() objectStream {
	shared := r.several()
	if len(shared) == 0 {
		return nil
	}
	again := newRiverReader(r.data, r.registry)
	again.shared = shared
	return again
}

func (r *riverReader) described() []*serialClass {
	return slices.DeleteFunc(slices.Clone(r.classes), func(c *serialClass) bool { return c == nil })
}

type riverReader struct {
	objectReader
	classes []*serialClass // nil while one is read
}

// index reads which of count things a reference means: back in 8 or 16 bits, or
// absolute in 32. It answers false for one that is not there.
func (r *riverReader) index(code, near, nearish byte, count int) (int, bool) {
	var n int
	switch code {
	case near:
		n = count + int(r.byte()) - riverNearLimit
	case nearish:
		n = count + int(r.uint16()) - riverNearishLimit
	default:
		n = int(r.int32())
	}
	if n < 0 || n >= count {
		r.fail("a reference to number %d of %d", n, count)
	}
	return n, r.err == nil
}

func (r *riverReader) repeat(code byte) any {
	n, ok := r.index(code, riverRepeatNear, riverRepeatNearish, len(r.instances))
	if !ok {
		return nil
	}
	r.refersTo(n)
	return r.instances[n]
}

// size reads the length after a code of four: none, or one in 8, 16 or 32 bits, in
// which 0 stands for the greatest.
func (r *riverReader) size(form byte) int {
	switch form {
	case 0:
		return 0
	case 1:
		return (int(r.byte())+riverSmall-1)%riverSmall + 1
	case 2:
		return (int(r.uint16())+riverMedium-1)%riverMedium + 1
	}
	return int(r.int32())
}

func (r *riverReader) value() any {
	if !r.enter() {
		return nil
	}
	defer r.leave()
	code := r.byte()
	switch {
	case code == riverNull:
		return nil
	case code == riverRepeatFar, code == riverRepeatNear, code == riverRepeatNearish:
		return r.repeat(code)
	case code == riverNew, code == riverNewUnshared:
		return r.object()
	case code == riverStringEmpty:
		return ""
	case code > riverStringEmpty && code <= riverString+2:
		return r.text(r.size(code - riverStringEmpty))
	case code >= riverArrayEmpty && code < riverByte:
		return r.array(r.size((code - riverArrayEmpty) % 4))
	case code >= riverByte && code <= riverDouble:
		return r.primitive("BSIJCFD"[code-riverByte])
	case code == riverTrue, code == riverFalse:
		return code == riverTrue
	case code >= riverCollEmpty && code < riverArrayList:
		return r.collection(r.size((code - riverCollEmpty) % 4))
	}
	return r.rare(code)
}

// rare reads the values that have a code of their own in the JDK's collections.
func (r *riverReader) rare(code byte) any {
	if r.registry.isExact() && riverOfCollections[code] != "" {
		return r.exactOfCollections(code)
	}
	switch code {
	case riverEmptyList:
		return &elements{class: emptyListName}
	case riverEmptySet:
		return &elements{class: emptySetName}
	case riverEmptyMap:
		return &dictionary{class: emptyMapName}
	case riverSingletonList, riverSingletonSet:
		number := r.assign(selfReference(collectionName))
		one := &elements{class: singletonListName, all: []any{r.value()}}
		if code == riverSingletonSet {
			one.class = singletonSetName
		}
		return r.become(number, one)
	case riverSingletonMap:
		number := r.assign(selfReference(mapName))
		value, _, _ := mapOf(singletonMapName, []any{r.value(), r.value()})
		return r.become(number, value)
	case riverReverseOrder:
		return foreign{class: "java.util.Collections$ReverseComparator"}
	case riverUnmodifiableCollection, riverUnmodifiableList, riverUnmodifiableMap, riverUnmodifiableSet:
		number := r.assign(selfReference(collectionName))
		return r.become(number, losing(riverOfCollections[code], unshared(r.value())))
	}
	if class, known := riverClasses[code]; known {
		return foreign{class: "java.lang.Class of " + class.name}
	}
	r.fail("code 0x%02x, which is none of the values read here", code)
	return nil
}

func (r *riverReader) text(n int) any {
	s := r.readUnits(r.count(n))
	return r.instances[r.assign(s)]
}

func (r *riverReader) array(n int) any {
	c := r.class()
	if r.err != nil {
		return nil
	}
	number := r.assign(selfReference("array"))
	var value any
	switch c.name {
	case "byte":
		value = append([]byte{}, r.take(n)...)
	case "boolean":
		value = r.bits(n)
	default:
		value = &elements{class: arrayName(c.name), all: r.elements(n, func() any { return r.element(c) })}
	}
	return r.become(number, value)
}

// bits reads booleans, eight in a byte.
func (r *riverReader) bits(n int) any {
	if n < 0 {
		r.fail("%d bits to come", n)
		return nil
	}
	if n > 8*r.left() {
		r.cut("%d bits to come, but %d bytes left", n, r.left())
		return nil
	}
	data := r.take((n + 7) / 8)
	if r.err != nil {
		return nil
	}
	all := make([]any, 0, n)
	for i := range n {
		all = append(all, data[i/8]>>(i%8)&1 == 1)
	}
	return &elements{class: "[Z", all: all}
}

func (r *riverReader) element(c *serialClass) any {
	if code := primitiveNames[c.name]; code != "" {
		return r.primitive(code[0])
	}
	return r.value()
}

// collection reads n elements of a collection of the JDK, or entries of a map.
func (r *riverReader) collection(n int) any {
	code := r.byte()
	class, known := riverCollections[code]
	if !known {
		r.fail("a collection 0x%02x, which is not read", code)
		return nil
	}
	number := r.assign(selfReference(class))
	var comparator any
	switch code {
	case riverTreeSet, riverTreeMap:
		comparator = r.value()
	case riverEnumSet, riverEnumMap:
		r.class()
	case riverCopies:
		n = 1
	}
	if code >= riverIdentityMap && code <= riverTreeMap || code == riverEnumMap {
		n *= 2
	}
	all := r.elements(n, r.value)
	var value any
	switch code {
	case riverArrayList:
		value = all
	case riverVector, riverStack, riverArrayDeque:
		value = losing(class, all)
	case riverHashSet, riverLinkedHashSet, riverTreeSet, riverLinkedList:
		value = &elements{class: class, all: all, lost: lostComparator(class, comparator)}
	case riverHashtable:
		value, _, _ = mapOf(hashMapName, all)
		value = losing(class, value)
	case riverHashMap, riverLinkedHashMap, riverTreeMap:
		value, _, _ = mapOf(class, all)
		if comparator != nil {
			value = losing(lostComparator(class, comparator), value)
		}
	default:
		value = foreign{class: class}
	}
	if r.registry.isExact() {
		value = exactCollection(class, value, comparator)
	}
	return r.become(number, value)
}

func (r *riverReader) name() string {
	s, ok := r.describe(r.value).(string)
	if !ok {
		r.fail("expected a name")
	}
	return s
}

func (r *riverReader) object() any {
	c := r.class()
	if r.err != nil {
		return nil
	}
	if c == riverClassClass {
		return foreign{class: "java.lang.Class of " + r.class().name}
	}
	if c.flags == scEnum {
		return r.instances[r.assign(r.registry.enumConstant(c.name, r.plainText()))]
	}
	number := r.assign(selfReference(c.name))
	var rec *record
	switch {
	case c.flags == scExternalizable:
		rec = &record{chain: []*serialClass{c}}
		r.content(rec)
	case c.flags&scSerializable != 0:
		rec = r.serializable(c, r.field, r.content)
	case c.name == javaLangProxy:
		rec = &record{chain: []*serialClass{c}}
		r.value() // its handler
	default:
		r.fail("an object of class %.80q, which is not serializable", c.name)
	}
	return r.resolve(number, rec)
}

func (r *riverReader) field(f serialField) any {
	if f.code == 'L' {
		return r.value()
	}
	return r.primitive(f.code)
}

// content reads what a class wrote of its own, to its end.
func (r *riverReader) content(record *record) {
	for r.err == nil {
		switch code := r.peek(); code {
		case riverEndBlock:
			r.byte()
			return
		case riverBlockSmall, riverBlockSmall + 1, riverBlockSmall + 2:
			r.byte()
			record.data = append(record.data, block(r.take(r.size(code-riverBlockSmall+1))))
		default:
			record.data = append(record.data, r.value())
		}
	}
}
