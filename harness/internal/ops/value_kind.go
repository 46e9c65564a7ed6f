package ops

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

const (
	plainJSON  = "typed-json|typed-json3|string"
	scalarJSON = "json|typed-json|json3|typed-json3|string"
	stringType = "java.lang.String"
)

// valueUnpackers decompress. DetectValue tries them in this order; lz4 and lz4-v2 have one form.
var valueUnpackers = []struct {
	name   string
	unpack codec.Codec[[]byte]
}{
	{"lz4", packed.LZ4[[]byte](codec.Bytes{})}, {"lz4-v2", packed.LZ4[[]byte](codec.Bytes{})},
	{"snappy", packed.SnappyChunks[[]byte](codec.Bytes{})}, {"snappy-v2", packed.Snappy[[]byte](codec.Bytes{})},
}

// DetectValue finds the codec and class of a value by its bytes. A compressed value has the names of both codecs: "lz4/kryo5".
func DetectValue(data []byte) ValueKind {
	kind := detectValue(data)
	if kind.Codec != UnknownValue {
		return kind
	}
	var names []string
	for _, u := range valueUnpackers {
		if claim, _ := binary.Uvarint(data); u.name == "snappy-v2" && claim >= 64<<20 || strings.HasPrefix(u.name, "lz4") && data[0] >= 4 || len(names) > 0 && u.name != "lz4-v2" {
			continue // other bytes claim to be as long
		}
		plain, err := u.unpack.Decode(data)
		if inner := detectValue(plain); err == nil && len(plain) > 0 && inner.Codec != UnknownValue {
			names = append(names, u.name+"/"+strings.ReplaceAll(inner.Codec, "|", "|"+u.name+"/"))
			kind = ValueKind{strings.Join(names, "|"), inner.Class}
		}
	}
	return kind
}

func detectValue(data []byte) ValueKind {
	switch {
	case len(data) == 0:
		return ValueKind{Codec: "string|bytes"}
	case bytes.HasPrefix(data, []byte("\xac\xed\x00\x05")):
		_, class, _ := decodeValue("serialization", data)
		return ValueKind{"serialization", class}
	case data[0] < ' ':
		unknown, other := new(java.ClassError), new(java.ValueError)
		_, class, err := decodeValue("marshalling", data)
		if err == nil || errors.As(err, &other) {
			return ValueKind{"marshalling", class}
		}
		_, class, err = decodeValue("kryo5", data)
		first := kryoClass(data)
		switch {
		case err == nil && class == "null":
			return ValueKind{Codec: "kryo5"}
		case err == nil:
			return ValueKind{"kryo5", class}
		case data[0] == 3 && errors.As(err, &other):
			return ValueKind{"kryo5", stringType}
		case isClassName(first) && (errors.As(err, &unknown) && isClassName(unknown.Class) || errors.As(err, &other)):
			return ValueKind{"kryo5", first}
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

// kryoClass returns the class at the beginning of a value of Kryo5: its last byte is marked.
func kryoClass(data []byte) string {
	name, is := bytes.CutPrefix(data, []byte{1, 0})
	end := slices.IndexFunc(name, func(b byte) bool { return b >= utf8.RuneSelf })
	if !is || end < 0 {
		return ""
	}
	return string(name[:end]) + string(rune(name[end]&0x7f))
}

// isClassName reports whether a text can be the full name of a class or array.
func isClassName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._$[;/", r)
	})
}

// detectJSON distinguishes the codecs of JSON by the classes in it, and the two Jacksons by a java.util.Date.
func detectJSON(data []byte) ValueKind {
	jackson := "json|json3"
	switch {
	case bytes.Contains(data, []byte(`["java.util.Date","`)):
		jackson = "json3"
	case bytes.Contains(data, []byte(`["java.util.Date",`)):
		jackson = "json"
	}
	var object struct {
		Class string `json:"@class"`
	}
	var pair [3]json.RawMessage
	switch {
	case data[0] == '"':
		return ValueKind{scalarJSON, stringType}
	case data[0] == '{' && json.Unmarshal(data, &object) == nil && object.Class != "",
		data[0] == '[' && json.Unmarshal(data, &pair) == nil && pair[1] != nil && pair[2] == nil && json.Unmarshal(pair[0], &object.Class) == nil && strings.Contains(object.Class, "."):
		return ValueKind{jackson, object.Class}
	case data[0] == '{', data[0] == '[':
		return ValueKind{Codec: plainJSON}
	}
	if _, err := (codec.Long{}).Decode(data); err == nil {
		return ValueKind{Codec: "json|typed-json|json3|typed-json3|long|string"}
	}
	return ValueKind{Codec: scalarJSON}
}

// decodeValue reads a value without Go types for its classes, and names its class.
func decodeValue(name string, data []byte) (o java.Object, class string, err error) {
	var values codec.Codec[java.Object]
	switch name {
	case "kryo5":
		values, _ = java.NewKryo5[java.Object]()
	case "marshalling":
		values, _ = java.NewMarshalling[java.Object]()
	default:
		values, _ = java.NewSerialization[java.Object]()
	}
	if o, err = values.Decode(data); err == nil {
		class = o.Class()
	}
	return o, class, err
}

// ShowValue returns a value of a codec as JSON for people: objects with "@class" and their fields, and scalars as Java's text. It
// fails with a *java.FormatError for bytes that are not a whole value, a *java.ClassError for an object of Kryo5, whose bytes
// name no fields, and errors.ErrUnsupported for an unknown codec.
func ShowValue(name string, data []byte) (string, error) {
	for _, u := range valueUnpackers {
		if inner, is := strings.CutPrefix(name, u.name+"/"); is {
			plain, err := u.unpack.Decode(data)
			if err != nil {
				return "", err
			}
			return ShowValue(inner, plain)
		}
	}
	var shown any
	var err error
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
		shown, _, err = decodeValue(name, data)
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
	if err != nil {
		return "", err
	}
	var out strings.Builder
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	err = to.Encode(shown)
	return strings.TrimSuffix(out.String(), "\n"), err
}
