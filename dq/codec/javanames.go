package codec

// Classes of the JDK that more than one codec names.
const (
	javaLangObject    = "java.lang.Object"
	javaLangString    = "java.lang.String"
	javaLangNumber    = "java.lang.Number"
	javaLangInteger   = "java.lang.Integer"
	javaLangLong      = "java.lang.Long"
	javaLangDouble    = "java.lang.Double"
	javaLangBoolean   = "java.lang.Boolean"
	javaLangByte      = "java.lang.Byte"
	javaLangShort     = "java.lang.Short"
	javaLangCharacter = "java.lang.Character"
	javaLangFloat     = "java.lang.Float"
	arrayListName     = "java.util.ArrayList"
	linkedListName    = "java.util.LinkedList"
	hashSetName       = "java.util.HashSet"
	linkedHashSetName = "java.util.LinkedHashSet"
	treeSetName       = "java.util.TreeSet"
	hashMapName       = "java.util.HashMap"
	linkedHashMapName = "java.util.LinkedHashMap"
	treeMapName       = "java.util.TreeMap"
	bytesName         = "[B"
	atomicLongName    = "java.util.concurrent.atomic.AtomicLong"
	atomicIntegerName = "java.util.concurrent.atomic.AtomicInteger"
	atomicBooleanName = "java.util.concurrent.atomic.AtomicBoolean"
)
