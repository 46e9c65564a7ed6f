// Package java reads and writes the values of Java services: the bytes of Redisson's codecs.
//
//	codec          Redisson class         default in releases          reads   writes
//	Kryo5          Kryo5Codec             3.19.0 and newer             yes     yes
//	Jackson        JsonJacksonCodec       2.7.0-2.14.1, 3.2.0-3.9.1    yes     yes
//	Marshalling    MarshallingCodec       3.13.0-3.18.1                yes     plain values
//	Serialization  SerializationCodec     -                            yes     plain values
//	-              FstCodec               2.15.0-2.15.2, 3.10.0-3.12.5 no      no
//
// A JSONForm makes Jackson the codec of TypedJsonJacksonCodec, JsonJackson3Codec or TypedJsonJackson3Codec. Plain values
// are texts, numbers, booleans, byte[], enums, ArrayLists, and objects with such fields. Any other value fails with an
// error: let Java write it, or name another codec in both services.
//
// These Go types represent Java types, in any combination:
//
//	Go                     Java                   as a field
//	string                 String                 String; *string for one that may be null
//	int32, int64           Integer, Long          int, long; *int64 or `java:"Long"` is a Long
//	bool, float32, float64 Boolean, Float, Double the primitive; boxed as a pointer or by the tag
//	int8, int16, uint16    Byte, Short, Character the primitive; boxed as a pointer or by the tag
//	a string type          an enum, see Class     the same enum
//	[]byte                 byte[]                 byte[]
//	[]T                    ArrayList              List<T>; `java:"Set"` and the like, see below
//	[]T `java:"array"`     -                      T[]
//	map[K]T                HashMap                Map<K, T>
//	struct                 its class, see Class   the same class
//	embedded struct        -                      its super class
//	any                    the class of its value Object; `java:"demo.Shape"` is that class or interface
//	*T `java:"Optional"`   -                      Optional<T>, in Kryo5 only
//	Set                    HashSet                Set<Object>
//	Date, Timestamp        Date, sql.Timestamp    the same
//	Decimal, *big.Int      BigDecimal, BigInteger the same
//	UUID, any [16]byte     UUID                   the same
//	time.Time              time.Instant           the same
//	time.Duration          time.Duration          the same
//	LocalDate and the like time.LocalDate         the same, as the text of its toString
//	URI, Currency, Locale  net.URI, Currency, …   the same, as the text of its toString; only read
//
// The tag of a slice or map names the class: Collection, ArrayList, LinkedList, Set, HashSet, LinkedHashSet, TreeSet,
// HashMap, LinkedHashMap or TreeMap. Reading accepts every class of collection in java.util; writing uses the tag's class.
//
// The tag `java:"java.util.OptionalInt,final"` of an any is a field that no Go type holds: Kryo5 refuses the struct.
// Kryo5 refuses a collection in an any with a tag such as `java:"java.util.Deque"`, whose type arguments Go does not know.
//
// Fields are exported and named by their json tags. A nil is null; null read into a Go type without nil is its zero value.
// A field of Java that the struct lacks is skipped, except in Kryo5, whose bytes do not name fields: there the struct needs
// every field, and the tags decide between int, Integer, long and Long. A field that the JSON lacks is the zero value in
// Go, whatever default the Java class gives it.
//
// A generic class is a Go type for each use, with the type arguments in its tag: `java:"demo.Page,of=java.lang.Long"`.
// Kryo5 leaves out the class of an element if a field declares it, so such a value is read only through that field.
//
// JsonJacksonCodec writes the results of methods such as isActive() as extra members. Go skips them when it reads, and
// does not write them.
//
// A map is written in the order in which a HashMap iterates that was filled entry by entry; a set in the order of its
// slice. Equal values can have different bytes: codec.PreserveBytes keeps the bytes of a value that was read.
//
// Decoding is safe for untrusted bytes: it does not panic, bounds its memory by their length, and reads to their end.
package java
