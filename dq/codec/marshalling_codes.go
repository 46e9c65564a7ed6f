package codec

import "maps"

// Codes of the river protocol. Those of strings, arrays and collections come in
// three or four: without a length, or with it in 8, 16 or 32 bits.
const (
	riverVersion                = 0x04
	riverNull                   = 0x01
	riverRepeatFar              = 0x02
	riverNew                    = 0x04
	riverNewUnshared            = 0x05
	riverClassFar               = 0x06
	riverPlainClass             = 0x07
	riverProxyClass             = 0x08
	riverSerializable           = 0x09
	riverExternalizable         = 0x0a
	riverEnumClass              = 0x0c
	riverArrayClass             = 0x0d
	riverStringClass            = 0x14
	riverObjectClass            = 0x16
	riverPrimBool               = 0x20
	riverPrimByte               = 0x21
	riverBoxBool                = 0x29
	riverBlockSmall             = 0x32
	riverEndBlock               = 0x35
	riverWriteObject            = 0x38
	riverRepeatNear             = 0x39
	riverRepeatNearish          = 0x3a
	riverClassNear              = 0x3b
	riverClassNearish           = 0x3c
	riverStringEmpty            = 0x3d
	riverString                 = 0x3e
	riverArrayEmpty             = 0x41
	riverArray                  = 0x42
	riverByte                   = 0x49
	riverShort                  = 0x4a
	riverInteger                = 0x4b
	riverLong                   = 0x4c
	riverChar                   = 0x4d
	riverFloat                  = 0x4e
	riverDouble                 = 0x4f
	riverTrue                   = 0x50
	riverFalse                  = 0x51
	riverCollEmpty              = 0x52
	riverColl                   = 0x53
	riverArrayList              = 0x5a
	riverLinkedList             = 0x5b
	riverSingletonList          = 0x5c
	riverEmptyList              = 0x5d
	riverHashSet                = 0x5e
	riverLinkedHashSet          = 0x5f
	riverTreeSet                = 0x60
	riverSingletonSet           = 0x61
	riverEmptySet               = 0x62
	riverIdentityMap            = 0x63
	riverHashMap                = 0x64
	riverHashtable              = 0x65
	riverLinkedHashMap          = 0x66
	riverTreeMap                = 0x67
	riverSingletonMap           = 0x68
	riverEmptyMap               = 0x69
	riverEnumSet                = 0x6a
	riverEnumMap                = 0x6c
	riverVector                 = 0x75
	riverStack                  = 0x76
	riverArrayDeque             = 0x78
	riverReverseOrder           = 0x79
	riverCopies                 = 0x7b
	riverUnmodifiableCollection = 0x7c
	riverUnmodifiableList       = 0x7d
	riverUnmodifiableMap        = 0x7e
	riverUnmodifiableSet        = 0x7f
	riverSharedFollows          = 0x00
	riverSmall                  = 0x100
	riverMedium                 = 0x10000
	riverNearLimit              = 0x100
	riverNearishLimit           = 0x10000
	riverHashMapBlock           = 8
)

// riverCollections has the classes of the collections that have a code.
var riverCollections = map[byte]string{
	riverArrayList: arrayListName, riverLinkedList: linkedListName, riverVector: "java.util.Vector", riverStack: "java.util.Stack",
	riverArrayDeque: arrayDequeName, riverCopies: "java.util.Collections$CopiesList",
	riverHashSet: hashSetName, riverLinkedHashSet: linkedHashSetName, riverTreeSet: treeSetName, riverEnumSet: "java.util.EnumSet",
	riverIdentityMap: "java.util.IdentityHashMap", riverHashMap: hashMapName, riverHashtable: hashtableName,
	riverLinkedHashMap: linkedHashMapName, riverTreeMap: treeMapName, riverEnumMap: "java.util.EnumMap",
}

// riverWrappers has the codes of those of Collections.
var riverWrappers = map[string]byte{
	emptyListName: riverEmptyList, emptySetName: riverEmptySet, emptyMapName: riverEmptyMap,
	singletonListName: riverSingletonList, singletonSetName: riverSingletonSet, singletonMapName: riverSingletonMap,
}

// riverClassClass is java.lang.Class itself.
var riverClassClass = &serialClass{name: javaLangClass}

// riverClasses has the classes that have a code.
var riverClasses = func() map[byte]*serialClass {
	classes := map[byte]*serialClass{0x15: riverClassClass}
	for code, name := range map[byte]string{
		riverStringClass: javaLangString, riverObjectClass: javaLangObject, 0x17: javaLangEnum,
		0x18: "[Z", 0x19: "[B", 0x1a: "[S", 0x1b: "[I", 0x1c: "[J", 0x1d: "[C", 0x1e: "[F", 0x1f: "[D",
		riverPrimBool: "boolean", riverPrimByte: "byte", 0x22: "short", 0x23: "int", 0x24: "long", 0x25: "char", 0x26: "float", 0x27: "double",
		0x28: "void", riverBoxBool: javaLangBoolean, 0x2a: javaLangByte, 0x2b: javaLangShort, 0x2c: javaLangInteger, 0x2d: javaLangLong,
		0x2e: javaLangCharacter, 0x2f: javaLangFloat, 0x30: javaLangDouble, 0x31: "java.lang.Void",
		0x6d: "java.util.AbstractCollection", 0x6e: "java.util.AbstractSet", 0x6f: "java.util.AbstractList",
		0x70: "java.util.AbstractQueue", 0x71: "java.util.AbstractSequentialList",
	} {
		classes[code] = &serialClass{name: name}
	}
	classes[0x73] = &serialClass{name: copyOnWriteArrayListName, flags: scSerializable | scWriteMethod}
	classes[0x74] = &serialClass{name: "java.util.concurrent.CopyOnWriteArraySet", flags: scSerializable, fields: []serialField{{code: 'L', name: "al"}}}
	for code, name := range riverCollections {
		classes[code] = &serialClass{name: name}
	}
	return classes
}()

// riverPrimitives has the codes of the primitives by the code of class files.
var riverPrimitives = map[string]byte{"Z": 0x20, "B": 0x21, "S": 0x22, "I": 0x23, "J": 0x24, "C": 0x25, "F": 0x26, "D": 0x27}

// riverCodes has the codes of all classes that have one, by javaType.className.
var riverCodes = func() map[string]byte {
	codes := maps.Clone(riverPrimitives)
	for code, class := range riverClasses {
		codes[class.name] = code
	}
	return codes
}()
