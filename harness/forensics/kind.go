package forensics

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// Kind is what a value is, as far as its bytes tell.
type Kind struct {
	// Codec names the codecs that may have written it, as package codec does, the
	// likeliest first and with "|" between them; "unknown" for one that is not known here,
	// such as Fst or a codec of somebody's own.
	Codec string
	// Class is the Java class that the bytes name or mean, "" where they do not tell.
	Class string
}

// unknownCodec is the Codec of values that nothing here reads.
const unknownCodec = "unknown"

// binaryCodecs read values that begin with a byte below 0x20; Serialization is told by
// its magic.
var binaryCodecs = []codec.Name{codec.NameMarshalling, codec.NameKryo5}

var decoders = func() map[codec.Name]codec.Codec[any] {
	m := make(map[codec.Name]codec.Codec[any])
	for _, name := range append([]codec.Name{codec.NameSerialization}, binaryCodecs...) {
		c, err := codec.ByName(name)
		if err != nil {
			panic("forensics: " + err.Error()) // its own table of names is wrong
		}
		m[name] = c
	}
	return m
}()

// serializationMagic begins every stream of java.io.ObjectOutputStream.
var serializationMagic = []byte{0xac, 0xed, 0, 5}

// KindOf looks at the bytes of a value.
func KindOf(value []byte) Kind {
	switch {
	case len(value) == 0:
		return Kind{Codec: "string|bytes"}
	case bytes.HasPrefix(value, serializationMagic):
		return serializationKind(value)
	case value[0] < ' ':
		for _, name := range binaryCodecs {
			if kind, _, ok := decode(name, value); ok {
				return kind
			}
		}
	case json.Valid(value):
		return jsonKind(value)
	}
	if isText(value) {
		return Kind{Codec: "string", Class: "java.lang.String"}
	}
	return Kind{Codec: unknownCodec}
}

// decode asks one codec for a value. It is nil where the bytes name a class that is not
// known here: an application's own.
func decode(name codec.Name, data []byte) (Kind, any, bool) {
	value, err := decoders[name].Decode(data)
	var class *codec.ClassError
	switch {
	case errors.As(err, &class):
		return Kind{string(name), class.Class}, nil, true
	case err != nil:
		return Kind{}, nil, false
	}
	return Kind{string(name), classOf(value)}, value, true
}

// classOf is the class of a value of Java that was decoded.
func classOf(value any) string {
	switch value.(type) {
	case string:
		return "java.lang.String"
	case int32:
		return "java.lang.Integer"
	case int64:
		return "java.lang.Long"
	case bool:
		return "java.lang.Boolean"
	case float64:
		return "java.lang.Double"
	case []byte:
		return "byte[]"
	case []any:
		return "java.util.ArrayList"
	case map[string]any:
		return "java.util.HashMap"
	}
	return ""
}

// jsonKind tells JsonJacksonCodec by the classes that it writes.
func jsonKind(value []byte) Kind {
	switch value[0] {
	case '{':
		var object struct {
			Class string `json:"@class"`
		}
		if json.Unmarshal(value, &object) == nil && object.Class != "" {
			return Kind{"json", object.Class}
		}
		return Kind{Codec: "typed-json|string"}
	case '[':
		var pair []json.RawMessage
		var class string
		if json.Unmarshal(value, &pair) == nil && len(pair) == 2 && json.Unmarshal(pair[0], &class) == nil && strings.Contains(class, ".") {
			return Kind{"json", class}
		}
		return Kind{Codec: "typed-json|string"}
	case '"':
		return Kind{"json|typed-json|string", "java.lang.String"}
	}
	var long codec.Long
	if _, err := long.Decode(value); err == nil {
		return Kind{Codec: "json|typed-json|long|string"}
	}
	return Kind{Codec: "json|typed-json|string"}
}

// serializationKind reads the class that a stream begins with.
func serializationKind(value []byte) Kind {
	if kind, _, ok := decode(codec.NameSerialization, value); ok {
		return kind
	}
	const object, description = 0x73, 0x72
	kind := Kind{Codec: string(codec.NameSerialization)}
	rest := value[len(serializationMagic):]
	if len(rest) >= 4 && rest[0] == object && rest[1] == description {
		if length := int(binary.BigEndian.Uint16(rest[2:])); len(rest) >= 4+length {
			kind.Class = string(rest[4 : 4+length])
		}
	}
	return kind
}

func isText(value []byte) bool {
	control := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) }
	return utf8.Valid(value) && !bytes.ContainsFunc(value, control)
}

// maxText is how much of a value Text shows, in bytes.
const maxText = 200

// Text shows a value to people, in one line: JSON and text as they are, other values as
// the JSON of what their codec reads, and the bytes, quoted, of what nothing here reads.
// The second result says whether that is all of it.
func Text(value []byte, kind Kind) (text string, whole bool) {
	text = fmt.Sprintf("%q", value)
	likeliest, _, _ := strings.Cut(kind.Codec, "|")
	switch name := codec.Name(likeliest); name {
	case codec.NameJSON, codec.NameTypedJSON, codec.NameString:
		if isText(value) && !bytes.ContainsAny(value, "\r\n") {
			text = string(value)
		}
	case codec.NameKryo5, codec.NameMarshalling, codec.NameSerialization:
		if _, decoded, ok := decode(name, value); ok && decoded != nil {
			if shown, err := json.Marshal(decoded); err == nil {
				text = string(shown)
			}
		}
	}
	if len(text) <= maxText {
		return text, true
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut], false
}
