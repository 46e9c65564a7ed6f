package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// The codecs of Jackson's binary forms of JSON. The values of the first two are read here,
// and written by Keep alone, in the bytes that they had; those of Smile are told by
// Detect, and not read.
const (
	NameCBOR    Name = "cbor"    // CborJacksonCodec
	NameMsgPack Name = "msgpack" // MsgPackJacksonCodec
	NameSmile   Name = "smile"   // SmileJacksonCodec
)

const smileMagic = ":)\n"

// binaryFormat is NameCBOR or NameMsgPack, which have the classes of NameJSON in them.
type binaryFormat struct{ codec Name }

func (f binaryFormat) encode(any) ([]byte, error) {
	return nil, &TypeError{f.codec, nil, "its values are read here, and written by codec.Keep alone, in the bytes that they had"}
}

func (f binaryFormat) decode(data []byte, g *registry, declared *javaType) (any, error) {
	document, err := f.document(data)
	if err != nil {
		return nil, err
	}
	if declared == nil {
		declared = objectType
	}
	d := jsonDecoder{codec: f.codec, registry: g}
	return d.value(document, declared, 0)
}

// document returns the value as encoding/json has it, with json.Number, but for []byte and
// for the doubles that no number of JSON is.
func (f binaryFormat) document(data []byte) (any, error) {
	if f.codec == NameMsgPack {
		r := reader{codec: NameMsgPack, data: data}
		value := r.msgPack()
		return value, r.end()
	}
	mode, err := cborMode()
	if err != nil {
		return nil, fmt.Errorf("codec %s: %w", f.codec, err)
	}
	var value any
	err = mode.Unmarshal(data, &value)
	var twice *cbor.DupMapKeyError
	if errors.As(err, &twice) {
		return nil, errTwice(f.codec, fmt.Sprint(twice.Key))
	}
	if err != nil {
		return nil, &FormatError{Codec: f.codec, Offset: 0, Truncated: endsEarly(err), Problem: fmt.Sprintf("expected a value of CBOR: %v", err)}
	}
	return cborDocument(value)
}

// errTwice is of an object with a key twice. Java writes so of a map with the key "@class", and takes the first for the
// class.
func errTwice(codec Name, key string) error {
	return &ValueError{codec, fmt.Sprintf("the key %.80q comes twice", key)}
}

var cborMode = sync.OnceValues(func() (cbor.DecMode, error) {
	return cbor.DecOptions{
		MaxNestedLevels: maxDepth, MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32,
		IntDec: cbor.IntDecConvertSignedOrBigInt, BigIntDec: cbor.BigIntDecodePointer,
		DefaultMapType: reflect.TypeFor[map[string]any](), UTF8: cbor.UTF8DecodeInvalid, DupMapKey: cbor.DupMapKeyEnforcedAPF,
	}.DecMode()
})

// decimalTag is of a pair of exponent and digits, which is a BigDecimal.
const decimalTag = 4

func cborDocument(value any) (any, error) {
	switch value := value.(type) {
	case nil, bool, string, []byte:
		return value, nil
	case int64:
		return json.Number(strconv.FormatInt(value, 10)), nil
	case *big.Int:
		if value.Sign() < 0 {
			return nil, errNegative
		}
		return json.Number(value.String()), nil
	case float64:
		return doubleNumber(value), nil
	case []any:
		for i, element := range value {
			var err error
			if value[i], err = cborDocument(element); err != nil {
				return nil, err
			}
		}
		return value, nil
	case map[string]any:
		for key, member := range value {
			var err error
			if value[key], err = cborDocument(member); err != nil {
				return nil, err
			}
		}
		return value, nil
	case cbor.Tag:
		return cborDecimal(value)
	}
	return nil, &FormatError{Codec: NameCBOR, Offset: 0, Problem: fmt.Sprintf("a value that Jackson does not write, of %T", value)}
}

// errNegative is of a number that has two meanings: what Jackson 2.19.2 writes of -5 is
// -6 by RFC 8949.
var errNegative = &ValueError{NameCBOR, "a negative BigInteger, which some releases of Jackson write one off; nothing in the bytes tells them"}

// cborDecimal returns the digits that a BigDecimal has, of which none are left out.
func cborDecimal(tag cbor.Tag) (json.Number, error) {
	pair, _ := tag.Content.([]any)
	if tag.Number == decimalTag && len(pair) == 2 {
		exponent, isInt := pair[0].(int64)
		digits, isBig := pair[1].(*big.Int)
		if small, is := pair[1].(int64); is {
			digits, isBig = big.NewInt(small), true
		} else if isBig && digits.Sign() < 0 {
			return "", errNegative
		}
		if isInt && isBig && exponent <= maxJSONScale && exponent >= -maxJSONScale {
			return json.Number(decimalOf(digits, int32(-exponent))), nil
		}
	}
	return "", &FormatError{Codec: NameCBOR, Offset: 0, Problem: fmt.Sprintf("the tag %d, where Jackson writes a BigDecimal only", tag.Number)}
}

// doubleNumber returns a double as a number that reads back as it; those that are none
// stay what they are.
func doubleNumber(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f
	}
	return json.Number(javaDouble(f))
}

// msgPack reads a value of the types that Jackson writes.
func (r *reader) msgPack() any {
	b := r.byte()
	size := func(width byte) int {
		switch width {
		case 0:
			return int(r.byte())
		case 1:
			return int(r.uint16())
		}
		return int(uint32(r.int32()))
	}
	signed := func(n int64) any { return json.Number(strconv.FormatInt(n, 10)) }
	switch {
	case b < 0x80:
		return signed(int64(b))
	case b < 0x90:
		return r.msgPackMap(int(b & 0xf))
	case b < 0xa0:
		return r.msgPackArray(int(b & 0xf))
	case b < 0xc0:
		return strings.ToValidUTF8(string(r.take(int(b&0x1f))), "\uFFFD")
	case b >= 0xe0:
		return signed(int64(int8(b)))
	}
	switch b {
	case 0xc0:
		return nil
	case 0xc2, 0xc3:
		return b == 0xc3
	case 0xc4, 0xc5, 0xc6:
		return append([]byte{}, r.take(size(b-0xc4))...)
	case 0xca:
		return doubleNumber(float64(math.Float32frombits(uint32(r.int32()))))
	case 0xcb:
		return doubleNumber(r.float64())
	case 0xcc, 0xcd, 0xce:
		return signed(int64(size(b - 0xcc)))
	case 0xcf:
		return json.Number(strconv.FormatUint(uint64(r.int64()), 10))
	case 0xd0:
		return signed(int64(int8(r.byte())))
	case 0xd1:
		return signed(int64(int16(r.uint16())))
	case 0xd2:
		return signed(int64(r.int32()))
	case 0xd3:
		return signed(r.int64())
	case 0xd9, 0xda, 0xdb:
		return strings.ToValidUTF8(string(r.take(size(b-0xd9))), "\uFFFD")
	case 0xdc, 0xdd:
		return r.msgPackArray(size(b - 0xdc + 1))
	case 0xde, 0xdf:
		return r.msgPackMap(size(b - 0xde + 1))
	}
	r.fail("0x%02x, which begins no value that Jackson writes", b)
	return nil
}

func (r *reader) msgPackArray(n int) any {
	n = r.count(n)
	if !r.enter() {
		return nil
	}
	defer r.leave()
	all := make([]any, 0, min(n, maxAhead))
	for range n {
		if r.err != nil {
			return nil
		}
		all = append(all, r.msgPack())
	}
	return all
}

func (r *reader) msgPackMap(n int) any {
	n = r.count(n)
	if !r.enter() {
		return nil
	}
	defer r.leave()
	all := make(map[string]any, min(n, maxAhead))
	for range n {
		key, isText := r.msgPack().(string)
		if !isText {
			r.fail("a key that is no text")
		}
		if _, twice := all[key]; twice && r.err == nil {
			r.err = errTwice(NameMsgPack, key)
		}
		if r.err != nil {
			return nil
		}
		all[key] = r.msgPack()
	}
	return all
}

// detectBinaryJSON tells the binary forms by their head and by the classes in them.
func detectBinaryJSON(data []byte) (Kind, bool) {
	if strings.HasPrefix(string(data[:min(len(data), len(smileMagic))]), smileMagic) {
		return Kind{Codec: string(NameSmile)}, true
	}
	if data[0] < 0x80 {
		return Kind{}, false // an object or a pair begins otherwise
	}
	for _, name := range []Name{NameCBOR, NameMsgPack} {
		document, err := binaryFormat{name}.document(data)
		if errValue := new(ValueError); errors.As(err, &errValue) {
			return Kind{string(name), ""}, true
		}
		if err != nil {
			continue
		}
		if class := documentClass(document); class != "" {
			return Kind{string(name), class}, true
		}
	}
	return Kind{}, false
}

// documentClass returns the class that an object or a pair names.
func documentClass(document any) (class string) {
	switch document := document.(type) {
	case map[string]any:
		class, _ = document[classKey].(string)
	case []any:
		if len(document) == 2 {
			class, _ = document[0].(string)
		}
	}
	if !strings.Contains(class, ".") && class != bytesName || !isClassName(class) {
		return ""
	}
	return class
}

// showBinary returns a document as JSON; bytes are in base64, as Jackson has them.
func showBinary(name Name, data []byte) (string, bool) {
	document, err := binaryFormat{name}.document(data)
	if err != nil {
		return "", false
	}
	text, err := json.Marshal(document)
	unsupported := new(json.UnsupportedValueError)
	if errors.As(err, &unsupported) {
		return "", false // NaN and the infinities
	}
	return string(text), err == nil
}

// CBOR reads what CborJacksonCodec wrote. Make one with NewCBOR.
type CBOR[T any] struct{ bound[T] }

// NewCBOR returns the codec for T. Structs without a java tag need a Class. It fails with a
// *TypeError.
func NewCBOR[T any](classes ...Class) (CBOR[T], error) {
	b, err := bind[T](NameCBOR, binaryFormat{NameCBOR}, classes)
	return CBOR[T]{b}, err
}

// Encode fails with a *TypeError: only Keep writes what was read.
func (c CBOR[T]) Encode(value T) ([]byte, error) { return c.encode(value) }

// Decode reads as that of Jackson does; []byte comes back as such. It fails with a *FormatError,
// *ClassError or *ValueError.
func (c CBOR[T]) Decode(data []byte) (T, error) { return c.decode(data) }

// MsgPack reads what MsgPackJacksonCodec wrote. Make one with NewMsgPack.
type MsgPack[T any] struct{ bound[T] }

// NewMsgPack returns the codec for T. Structs without a java tag need a Class. It fails with
// a *TypeError.
func NewMsgPack[T any](classes ...Class) (MsgPack[T], error) {
	b, err := bind[T](NameMsgPack, binaryFormat{NameMsgPack}, classes)
	return MsgPack[T]{b}, err
}

// Encode fails with a *TypeError: only Keep writes what was read.
func (m MsgPack[T]) Encode(value T) ([]byte, error) { return m.encode(value) }

// Decode reads as that of CBOR does. Java wrote a BigDecimal as a double, where it lost what
// a double does not hold.
func (m MsgPack[T]) Decode(data []byte) (T, error) { return m.decode(data) }
