// Package codec answers: how is a value encoded?
//
// A codec must be the one that the Redisson services on the same queue use; the
// wire format does not say which it is. Delayed members carry the codec of their
// destination queue. Default tells which codec a release takes when its
// configuration names none.
//
//	codec          name           Redisson class         default in releases
//	Jackson        json           JsonJacksonCodec       2.7.0-2.14.1, 3.2.0-3.9.1
//	-              fst            FstCodec               2.15.0-2.15.2, 3.10.0-3.12.5
//	Marshalling    marshalling    MarshallingCodec       3.13.0-3.18.1
//	Kryo5          kryo5          Kryo5Codec             3.19.0 and newer
//	JSON           typed-json     TypedJsonJacksonCodec  -
//	Jackson3       json3          JsonJackson3Codec      -
//	JSON3          typed-json3    TypedJsonJackson3Codec -
//	Serialization  serialization  SerializationCodec     -
//	String         string         StringCodec            -
//	Long           long           LongCodec              -
//	Bytes          bytes          ByteArrayCodec         -
//
// Compressed wraps any of them as LZ4Codec, LZ4CodecV2, SnappyCodec, SnappyCodecV2 and
// ZStdCodec do, which wrap the default of their release unless they are given another:
// "lz4/kryo5", "lz4-v2/kryo5", "snappy/marshalling", "snappy-v2/json", "zstd/kryo5".
//
// Bytes, Long and String take []byte, int64 and string. The others take these Go
// types, in any combination:
//
//	Go                   Java                     as a field, boxed or not
//	string               String                   String; nil *string is null
//	int32                Integer                  int; *int32 or `java:"Integer"`: Integer
//	int64                Long                     long; *int64 or `java:"Long"`: Long
//	bool                 Boolean                  boolean; *bool or `java:"Boolean"`: Boolean
//	float64              Double                   double; *float64 or `java:"Double"`: Double
//	[]byte               byte[]                   byte[]
//	[]T                  ArrayList                List<T>
//	map[string]T         HashMap                  Map<String, T>
//	struct, *struct      its class, see Class     the same class
//	embedded struct      its super class          -
//	any                  the class of its value   Object; `java:"demo.Shape"`: that class or interface
//
// Kryo5, Marshalling and Serialization take these besides:
//
//	int8, int16          Byte, Short              byte, short; *int8 or `java:"Byte"`: Byte
//	float32              Float                    float; *float32 or `java:"Float"`: Float
//	uint16               Character                char; *uint16 or `java:"Character"`: Character
//	a string type        its enum, see Class      the same enum
//	Date                 java.util.Date           Date
//	Decimal, *big.Int    BigDecimal, BigInteger   the same
//	UUID, any [16]byte   UUID                     UUID
//	time.Time            java.time.Instant        Instant
//	time.Duration        java.time.Duration       Duration
//	LocalDate and so on  LocalDate, LocalTime, LocalDateTime, OffsetDateTime, ZonedDateTime
//	Locale, URI          Locale, java.net.URI     the same
//	Currency, Timestamp  Currency, java.sql.Timestamp
//	Period, Year         java.time.Period, java.time.Year
//	YearMonth, MonthDay  java.time.YearMonth, java.time.MonthDay
//	OffsetTime           java.time.OffsetTime
//	AtomicLong           AtomicLong, AtomicInteger, AtomicBoolean, which Kryo5 only reads
//	any                  one of these             `java:"java.time.YearMonth"` declares it
//	Set                  HashSet                  Set<Object>
//	Collection           its class                -; where an any holds one
//	[]T `java:"Set"`     HashSet                  Set<T>; also "HashSet", "LinkedHashSet", "TreeSet", "SortedSet"
//	[]T `java:"array"`   T[]                      int[] for []int32, Integer[] for []*int32
//	[]T                  LinkedList, ArrayList    `java:"LinkedList"`, `java:"ArrayList"`, `java:"Collection"`
//	map[K]T              HashMap                  Map<K, T>, of keys that are scalars, numbers or enums
//	map[K]T              LinkedHashMap, TreeMap   `java:"LinkedHashMap"`, `java:"TreeMap"`, "HashMap", "SortedMap", "NavigableMap"
//	map[any]any          a map with such keys     -; where an any holds one
//	*T `java:"Optional"` Optional<T>              Optional<T>, in Kryo5 only; nil is empty
//
// Of these Jackson, Jackson3 and JSON3 take int8, int16, uint16, float32, Date, Decimal,
// *big.Int and enums, what is written alike by all releases and needs no module, the
// collections, arrays but for those of characters, maps with keys that are integers,
// enums or UUIDs, and UUID, which Jackson writes when it was told the release: see
// NewJacksonAt; JSON takes Decimal, *big.Int and UUID. Jackson3 and JSON3 take dates from 1582-10-15 to 9999.
//
// Fields are exported and named by their json tags. nil is null; null read into
// a Go type that has no nil is its zero value. Other Go types fail with a
// *TypeError. Lists and maps of other classes, such as LinkedList, List.of,
// Arrays.asList, TreeMap and those of Collections, are read where ArrayList and
// HashMap are, and written as the class that the tag of the field says; an any holds a Collection then, which
// is written as it was read, or refused by its class: see there what a type switch must do. JSON, whose bytes name no classes, takes
// whatever encoding/json takes besides.
//
// A value of another Java class is a *ClassError where a field wants it. In
// Marshalling and Serialization a struct may leave the field out: it is passed over,
// whatever serializable class it holds. Kryo5 names no fields, so that a struct must
// have all of them, and the bytes do not tell int64 from Long: the tag must.
//
// A generic class is a generic struct, whose fields of the type parameter are tagged; Kryo5
// leaves out the classes of what they hold where a field declares the argument:
//
//	type Page[T any] struct {
//		_     struct{} `java:"demo.Page,serialVersionUID=1"`
//		First T            `json:"first" java:"T"` // of T extends Number "T,erasure=java.lang.Number"
//		Items []T          `json:"items" java:"List<T>"` // also "Set<T>"
//		ByKey map[string]T `json:"byKey" java:"Map<T>"`
//	}
//
// The erasure is the first bound of the type parameter. Serialization alone writes it, and contains and remove of Java
// find no value without it.
//
// A class that extends a generic one embeds that with the argument, Base[*int64]; the tag
// java:"T" there says that the argument is the type parameter of the class itself.
//
// A Java record needs the option record in its tag, and a final class the option
// final: see Class.
//
// An embedded struct without a json name is the super class, at any number of
// levels. Jackson, JSON and Kryo5 write inherited fields among those of the class,
// so that a struct that holds all of them as its own writes the same bytes.
// Marshalling and Serialization write each class apart: Class tells what they
// refuse to write, and from when on.
//
// Detect tells which codec wrote a value, Show what it holds, and Check where a Go type
// does not fit it; `dq-bench codec gen` writes the types.
//
// The bytes are those of Redisson, as testdata/vectors.json has them from ten
// releases; no release differs from another, but for one thing: NaN and the
// infinities in a list or map of objects are plain strings in JSON before Jackson
// 2.10 (Redisson 3.13.0), and name their class after; this package writes the
// latter. Where Java itself decides by more than the value, this is the rule:
//
//   - A map is written as a HashMap filled entry by entry iterates; that of an any as it was
//     read, if that was in another order. Keys that share
//     a bucket go by name there, and keys that are enums, which Java has in another
//     order each time, go by number; the entries of a LinkedHashMap go by key.
//   - A set is written in the order of its slice, in which it was read, and a TreeSet or TreeMap in that of
//     compareTo. Serialization and Marshalling, of which Java takes it for sorted, refuse one of objects, or of
//     another class whose order is not known here, unless an Origin or an any holds it as it was read.
//   - Each string and object is an instance of its own; Integer and Long from -128
//     to 127 and Boolean are the instances that Java keeps. Only Serialization and
//     Marshalling show it.
//   - Doubles in JSON have the digits of JDK 19; older ones sometimes write more.
//   - A UUID in Kryo5 is written as Redisson 3.21.0 and newer do; 3.19.0 does otherwise.
//   - A lone surrogate, which a Go string cannot hold, is read as U+FFFD.
//
// What no Go value holds, Keep keeps: with it a value that was read is written in the very
// bytes that it had. A field of Origin keeps the classes and the order of collections, for
// values that are changed and written again.
//
// Decoding is safe for bytes from anywhere: it does not panic, and the memory it
// takes is bounded by a constant and a multiple of their length. It reads bytes
// to their end: some left over are a *FormatError.
package codec
