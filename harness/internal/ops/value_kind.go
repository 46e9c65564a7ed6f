package ops

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/codec/packed"
)

// ValueKind is the codec and class of a value, as far as its bytes show.
type ValueKind struct {
	Codec string // that can have written the bytes, the likeliest first, with "|" between them; or UnknownValue
	Class string // of Java; "" if the bytes do not name it
}

// UnknownValue is the Codec of bytes that no codec here reads.
const UnknownValue = "unknown"

// Likeliest returns the first of the codecs.
func (k ValueKind) Likeliest() string {
	return strings.Split(k.Codec, "|")[0]
}

// stringType is the class of a text.
const stringType = "java.lang.String"

var (
	serialization, _ = java.NewSerialization[java.Object]()
	marshalling, _   = java.NewMarshalling[java.Object]()
	kryo5, _         = java.NewKryo5[java.Object]()
	// objectCodecs read values without Go types for their classes.
	objectCodecs = map[string]codec.Codec[java.Object]{"serialization": serialization, "marshalling": marshalling, "kryo5": kryo5}
)

// unpackers decompress. lz4 and lz4-v2 have one form.
var unpackers = map[string]codec.Codec[[]byte]{
	"lz4": packed.LZ4[[]byte](codec.Bytes{}), "lz4-v2": packed.LZ4[[]byte](codec.Bytes{}),
	"snappy": packed.SnappyChunks[[]byte](codec.Bytes{}), "snappy-v2": packed.Snappy[[]byte](codec.Bytes{}),
}

// DetectValue finds the codec and class of a value by its bytes. A compressed value has the names of both codecs: "lz4/kryo5".
func DetectValue(data []byte) ValueKind {
	kind := detectPlain(data)
	claim, _ := binary.Uvarint(data)
	for _, names := range [][]string{{"lz4", "lz4-v2"}, {"snappy"}, {"snappy-v2"}} {
		if kind.Codec != UnknownValue || names[0] == "lz4" && data[0] >= 4 || names[0] == "snappy-v2" && claim >= 64<<20 {
			continue // other bytes claim to be as long
		}
		plain, err := unpackers[names[0]].Decode(data)
		if inner := detectPlain(plain); err == nil && len(plain) > 0 && inner.Codec != UnknownValue {
			for i, name := range names {
				names[i] = name + "/" + strings.ReplaceAll(inner.Codec, "|", "|"+name+"/")
			}
			kind = ValueKind{strings.Join(names, "|"), inner.Class}
		}
	}
	return kind
}

// className is the full name of a class or array.
var className = regexp.MustCompile(`^[\pL\p{Nd}._$[;/]+$`)

// detectPlain is DetectValue of a value that is not compressed.
func detectPlain(data []byte) ValueKind {
	isSerial := bytes.HasPrefix(data, []byte("\xac\xed\x00\x05"))
	switch {
	case len(data) == 0:
		return ValueKind{Codec: "string|bytes"}
	case isSerial, data[0] < ' ':
		class := map[bool]string{true: stringType}[data[0] == 3]
		marked := func(r rune) bool { return r >= utf8.RuneSelf } // as the last byte of a name in Kryo5
		if end := bytes.IndexFunc(data, marked); end > 1 && bytes.HasPrefix(data, []byte{1, 0}) {
			class = className.FindString(string(data[2:end]) + string(rune(data[end]&0x7f)))
		}
		for _, name := range []string{"serialization", "marshalling", "kryo5"} {
			o, err := objectCodecs[name].Decode(data)
			isRefused, unknown := errors.As(err, new(*java.ValueError)), new(java.ClassError)
			switch {
			case err == nil && name == "kryo5" && o.Class() == "null":
				return ValueKind{Codec: name}
			case err == nil:
				return ValueKind{name, o.Class()}
			case isSerial, isRefused && name == "marshalling", class != "" && (isRefused || errors.As(err, &unknown) && className.MatchString(unknown.Class)):
				return ValueKind{name, class}
			}
		}
	case json.Valid(data):
		return detectJSON(data)
	}
	control := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) }
	if utf8.Valid(data) && !bytes.ContainsFunc(data, control) {
		return ValueKind{"string", stringType}
	}
	return ValueKind{Codec: UnknownValue}
}

// detectJSON distinguishes the codecs of JSON by the classes in it, and the two Jacksons by a java.util.Date.
func detectJSON(data []byte) ValueKind {
	var object struct {
		Class string `json:"@class"`
	}
	var pair [3]json.RawMessage
	switch {
	case data[0] == '"':
		object.Class = stringType
	case data[0] == '{' && json.Unmarshal(data, &object) == nil && object.Class != "",
		data[0] == '[' && json.Unmarshal(data, &pair) == nil && pair[1] != nil && pair[2] == nil && json.Unmarshal(pair[0], &object.Class) == nil && strings.Contains(object.Class, "."):
		jackson := "json|json3"
		if bytes.Contains(data, []byte(`["java.util.Date",`)) {
			jackson = map[bool]string{true: "json3", false: "json"}[bytes.Contains(data, []byte(`["java.util.Date","`))]
		}
		return ValueKind{jackson, object.Class}
	case data[0] == '{', data[0] == '[':
		return ValueKind{Codec: "typed-json|typed-json3|string"}
	}
	if _, err := (codec.Long{}).Decode(data); err == nil {
		return ValueKind{Codec: "json|typed-json|json3|typed-json3|long|string"}
	}
	return ValueKind{"json|typed-json|json3|typed-json3|string", object.Class}
}

// ShowValue returns a value of a codec as JSON for people: objects with "@class" and their fields, and scalars as Java's text. It
// fails with a *java.FormatError for bytes that are not a whole value, a *java.ClassError for an object of Kryo5, whose bytes
// name no fields, and errors.ErrUnsupported for an unknown codec.
func ShowValue(name string, data []byte) (text string, err error) {
	if outer, inner, is := strings.Cut(name, "/"); is && unpackers[outer] != nil {
		if data, err = unpackers[outer].Decode(data); err != nil {
			return "", err
		}
		return ShowValue(inner, data)
	}
	var shown any
	switch name {
	case "json", "json3", "typed-json", "typed-json3":
		_, err = codec.JSON[any]{}.Decode(data)
		if form, ok := errors.AsType[*java.FormatError](err); ok {
			form.Codec = name
		} else if value, ok := errors.AsType[*java.ValueError](err); ok {
			value.Codec = name
		}
		return string(data), err
	case "kryo5", "marshalling", "serialization":
		shown, err = objectCodecs[name].Decode(data)
	case "long":
		shown, err = codec.Long{}.Decode(data)
	case "string":
		if shown = string(data); !utf8.Valid(data) {
			err = &java.FormatError{Codec: name, Problem: "expected a text of UTF-8"}
		}
	case "bytes":
		shown = fmt.Sprintf("%x", data)
	default:
		return "", fmt.Errorf("codec %q: expected string, bytes, long, json, typed-json, json3, typed-json3, kryo5, marshalling, serialization, or one of these after lz4/, lz4-v2/, snappy/ or snappy-v2/: %w", name, errors.ErrUnsupported)
	}
	var out strings.Builder
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	if err == nil {
		err = to.Encode(shown)
	}
	return strings.TrimSuffix(out.String(), "\n"), err
}
