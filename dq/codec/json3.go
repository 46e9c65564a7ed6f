package codec

// Jackson3 writes JSON with the type information of JsonJackson3Codec, which Redisson has
// since 4.0: as Jackson does, but for a long that is declared one, which has no class, dates,
// which are texts of ISO 8601, and a BigDecimal, which may have an exponent. Make one with
// NewJackson3.
//
// That codec goes by public fields, getters and setters, not by private fields as JsonJacksonCodec does: it does not
// write a private field that has no getter, so that the struct must not have it, nor one that only a computing getter
// stands behind, and reads what a setter makes of it, even a private one. So does TypedJsonJackson3Codec. The option jackson3=no of a class's tag, which `codec gen` writes where class files show either,
// refuses to write it.
type Jackson3[T any] struct{ bound[T] }

// NewJackson3 returns the codec for T. Structs without a java tag need a Class. It fails with
// a *TypeError.
func NewJackson3[T any](classes ...Class) (Jackson3[T], error) {
	b, err := bind[T](NameJSON3, jsonFormat{codec: NameJSON3}, classes)
	return Jackson3[T]{b}, err
}

// Encode fails with a *TypeError or *ValueError for what Java cannot hold.
func (j Jackson3[T]) Encode(value T) ([]byte, error) { return j.encode(value) }

// Decode reads as that of Jackson does.
func (j Jackson3[T]) Decode(data []byte) (T, error) { return j.decode(data) }

// JSON3 writes plain JSON as TypedJsonJackson3Codec does: as JSON does, but with nulls, and
// with the dates of Jackson3. Make one with NewJSON3.
type JSON3[T any] struct{ bound[T] }

// NewJSON3 returns the codec for T, and fails with a *TypeError. It needs no Class but to refuse the constants of an
// enum with NoJackson3, which the text of a string type does not tell.
func NewJSON3[T any](classes ...Class) (JSON3[T], error) {
	b, err := bind[T](NameTypedJSON3, jsonFormat{codec: NameTypedJSON3}, classes)
	return JSON3[T]{b}, err
}

// Encode fails with a *TypeError or *ValueError for what is no JSON.
func (j JSON3[T]) Encode(value T) ([]byte, error) { return j.encode(value) }

// Decode passes over fields that a struct has not got. It fails with a *FormatError or
// *ValueError.
func (j JSON3[T]) Decode(data []byte) (T, error) { return j.decode(data) }
