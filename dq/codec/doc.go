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
//	Serialization  serialization  SerializationCodec     -
//	String         string         StringCodec            -
//	Long           long           LongCodec              -
//	Bytes          bytes          ByteArrayCodec         -
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
//	any                  the class of its value   Object
//
// Fields are exported and named by their json tags. nil is null; null read into
// a Go type that has no nil is its zero value. Other Go types fail with a
// *TypeError, and other Java classes with a *ClassError; LinkedList and
// LinkedHashMap are read where ArrayList and HashMap are. JSON, whose bytes name
// no classes, takes whatever encoding/json takes besides.
//
// An embedded struct without a json name is the super class, at any number of
// levels. Jackson, JSON and Kryo5 write inherited fields among those of the class,
// so that a struct that holds all of them as its own writes the same bytes.
// Marshalling and Serialization write each class apart: Class tells what they
// refuse to write, and from when on.
//
// The bytes are those of Redisson, as testdata/vectors.json has them from ten
// releases; no release differs from another, but for one thing: NaN and the
// infinities in a list or map of objects are plain strings in JSON before Jackson
// 2.10 (Redisson 3.13.0), and name their class after; this package writes the
// latter. Where Java itself decides by more than the value, this is the rule:
//
//   - A map is written as a HashMap filled entry by entry iterates. Keys that share
//     a bucket go by name there.
//   - Each string and object is an instance of its own; Integer and Long from -128
//     to 127 and Boolean are the instances that Java keeps. Only Serialization and
//     Marshalling show it.
//   - Doubles in JSON have the digits of JDK 19; older ones sometimes write more.
//   - A lone surrogate, which a Go string cannot hold, is read as U+FFFD.
//
// Decoding is safe for bytes from anywhere: it does not panic, and the memory it
// takes is bounded by a constant and a multiple of their length. It reads bytes
// to their end: some left over are a *FormatError.
package codec
