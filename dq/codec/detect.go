package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what bytes are, as far as they tell.
type Kind struct {
	// Codec names the codecs that may have written them, the likeliest first and with "|"
	// between them; UnknownCodec for one that is not known here, such as Fst or a codec of
	// somebody's own.
	Codec string
	// Class is the Java class that the bytes name or mean, "" where they do not tell.
	Class string
}

// UnknownCodec is the Codec of bytes that nothing here reads.
const UnknownCodec = "unknown"

// Likeliest returns the first of the codecs; UnknownCodec where none is known.
func (k Kind) Likeliest() Name {
	first, _, _ := strings.Cut(k.Codec, "|")
	return Name(first)
}

// Detect tells from the bytes of a value which codec wrote it, and of which class it is.
// What was compressed has the names of both codecs, as Name.Within writes them.
func Detect(data []byte) Kind {
	kind := detectPlain(data)
	if kind.Codec == UnknownCodec {
		if compressed, is := detectCompressed(data); is {
			return compressed
		}
	}
	return kind
}

func detectPlain(data []byte) Kind {
	switch {
	case len(data) == 0:
		return Kind{Codec: "string|bytes"}
	case bytes.HasPrefix(data, []byte(streamMagic)):
		return Kind{string(NameSerialization), serialClassOf(data)}
	case data[0] < ' ':
		if class, ok := treeClassOf(NameMarshalling, riverFormat{}, data); ok {
			return Kind{string(NameMarshalling), class}
		}
		if class, _, err := kryoClassOf(data); err == nil {
			return Kind{string(NameKryo5), class}
		}
	case json.Valid(data):
		return detectJSON(data)
	}
	if isText(data) {
		return Kind{Codec: string(NameString), Class: javaLangString}
	}
	return Kind{Codec: UnknownCodec}
}

// treeClassOf returns the class of the value that a format reads, and false for bytes of
// another format.
func treeClassOf(name Name, f format, data []byte) (class string, ok bool) {
	value, err := f.decode(data, emptyRegistry(name, nil), nil)
	if err != nil {
		return "", false
	}
	switch value := value.(type) {
	case foreign:
		return value.class, true
	case *elements:
		return javaClass(value.class, value.lost), true
	case *dictionary:
		return javaClass(value.class, value.lost), true
	}
	return ClassOf(value), true
}

// serialClassOf looks at the description with which the stream begins, where the whole
// of it cannot be read.
func serialClassOf(data []byte) string {
	if class, ok := treeClassOf(NameSerialization, serialFormat{}, data); ok {
		return class
	}
	rest := data[len(streamMagic):]
	if len(rest) >= 4 && rest[0] == tcObject && rest[1] == tcClassDesc {
		if length := int(binary.BigEndian.Uint16(rest[2:])); len(rest) >= 4+length {
			return string(rest[4 : 4+length])
		}
	}
	return ""
}

// kryoClassOf returns the class of a value of Kryo5, and whether all of it was read: what is behind the
// name of a class that is not known cannot be told from anything else.
func kryoClassOf(data []byte) (class string, whole bool, err error) {
	r := kryoReader{reader: reader{codec: NameKryo5, data: data}, registry: emptyRegistry(NameKryo5, nil)}
	t := r.class()
	unknown := new(*ClassError)
	switch {
	case errors.As(r.err, unknown) && isClassName((*unknown).Class):
		return (*unknown).Class, false, nil
	case errors.As(r.err, unknown):
		return "", false, &FormatError{Codec: NameKryo5, Offset: r.at, Problem: fmt.Sprintf("expected the name of a class, got %.80q", (*unknown).Class)}
	case t.null:
		return "", true, r.end()
	case len(r.names) > 0:
		class = r.names[0]
	case t.kind == kindString:
		class = javaLangString
	default:
		class = primitives[t.kind].box
	}
	r.object(t, nil)
	if err = r.end(); errors.As(err, unknown) {
		return class, false, nil
	}
	return class, err == nil, err
}

// isClassName reports whether a text can be the full name of a class, or of an array.
func isClassName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._$[;/", r)
	})
}

// What may have written JSON that names no classes: of two codecs with the same bytes the one of Jackson 2 comes first.
const (
	plainJSON  = "typed-json|typed-json3|string"
	scalarJSON = "json|typed-json|json3|typed-json3|string"
)

// jacksonOf tells JsonJacksonCodec and JsonJackson3Codec apart where there is a java.util.Date, which is a text in the
// latter and a number in the former.
func jacksonOf(data []byte) string {
	switch {
	case bytes.Contains(data, []byte(`["java.util.Date","`)):
		return string(NameJSON3)
	case bytes.Contains(data, []byte(`["java.util.Date",`)):
		return string(NameJSON)
	}
	return "json|json3"
}

// detectJSON tells codecs that name classes by these.
func detectJSON(data []byte) Kind {
	switch data[0] {
	case '{':
		if class := firstClass(data); class != "" {
			return Kind{jacksonOf(data), class}
		}
		return Kind{Codec: plainJSON}
	case '[':
		var pair []json.RawMessage
		var class string
		if json.Unmarshal(data, &pair) == nil && len(pair) == 2 && json.Unmarshal(pair[0], &class) == nil && strings.Contains(class, ".") {
			return Kind{jacksonOf(data), class}
		}
		return Kind{Codec: plainJSON}
	case '"':
		return Kind{scalarJSON, javaLangString}
	}
	if _, err := (Long{}).Decode(data); err == nil {
		return Kind{Codec: "json|typed-json|json3|typed-json3|long|string"}
	}
	return Kind{Codec: scalarJSON}
}

// firstClass returns the class that an object of JSON names, or "": of two the first, as Java takes it.
func firstClass(data []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(data))
	_, err := decoder.Token()
	for err == nil && decoder.More() {
		var key json.Token
		if key, err = decoder.Token(); err != nil {
			break
		}
		if key == classKey {
			var class string
			if decoder.Decode(&class) != nil {
				return ""
			}
			return class
		}
		err = decoder.Decode(new(json.RawMessage))
	}
	return ""
}

func isText(data []byte) bool {
	control := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) }
	return utf8.Valid(data) && !bytes.ContainsFunc(data, control)
}
