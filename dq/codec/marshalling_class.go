package codec

import "strings"

// primitiveNames has the code that class files have for a primitive.
var primitiveNames = map[string]string{
	"boolean": "Z", "byte": "B", "short": "S", "int": "I", "long": "J", "char": "C", "float": "F", "double": "D",
}

// arrayName returns the name of the class of arrays of a class.
func arrayName(of string) string {
	switch code := primitiveNames[of]; {
	case code != "":
		return "[" + code
	case strings.HasPrefix(of, "["):
		return "[" + of
	}
	return "[L" + of + ";"
}

// plainText reads a text that is no instance.
func (r *riverReader) plainText() string { return r.readUnits(r.count(int(r.int32()))) }

// class reads a class description.
func (r *riverReader) class() *serialClass {
	none := &serialClass{name: javaLangObject}
	if !r.enter() {
		return none
	}
	defer r.leave()
	code := r.byte()
	if basic, known := riverClasses[code]; known {
		return basic
	}
	switch code {
	case riverClassFar, riverClassNear, riverClassNearish:
		n, ok := r.index(code, riverClassNear, riverClassNearish, len(r.classes))
		if ok && r.classes[n] == nil {
			r.fail("a class that describes itself")
		}
		if r.err != nil {
			return none
		}
		return r.classes[n]
	case riverSerializable, riverWriteObject:
		return r.newClass(code == riverWriteObject)
	case riverPlainClass, riverEnumClass, riverExternalizable:
		return r.simpleClass(code)
	case riverArrayClass:
		index := len(r.classes)
		r.classes = append(r.classes, nil)
		r.classes[index] = &serialClass{name: arrayName(r.class().name)}
		return r.classes[index]
	case riverProxyClass:
		for range r.count(int(r.int32())) {
			r.plainText()
		}
		c := &serialClass{name: javaLangProxy}
		r.classes = append(r.classes, c)
		return c
	}
	r.fail("code 0x%02x, expected a class", code)
	return none
}

// simpleClass reads a class of which no fields are told.
func (r *riverReader) simpleClass(code byte) *serialClass {
	c := &serialClass{name: r.plainText()}
	switch code {
	case riverEnumClass:
		c.flags = scEnum
	case riverExternalizable:
		c.flags = scExternalizable
		c.uid = r.int64()
	}
	r.classes = append(r.classes, c)
	return c
}

func (r *riverReader) newClass(writes bool) *serialClass {
	index := len(r.classes)
	r.classes = append(r.classes, nil)
	c := &serialClass{name: r.name(), uid: r.int64(), flags: scSerializable}
	if writes {
		c.flags |= scWriteMethod
	}
	for range r.count(int(r.int32())) {
		f := serialField{name: r.name(), code: 'L'}
		if code := primitiveNames[r.class().name]; code != "" {
			f.code = code[0]
		}
		r.byte() // whether each reference to its value is another instance
		if r.err != nil {
			return c
		}
		c.fields = append(c.fields, f)
	}
	super := r.class()
	switch {
	case super.flags&scSerializable != 0:
		c.super = super
	case riverCodes[super.name] >= riverArrayList && !strings.HasPrefix(super.name, "java.util.Abstract"):
		r.fail("class %.80q extends %s, whose data no one describes", c.name, super.name)
	}
	r.classes[index] = c
	return c
}
