package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Whole reads a value to its end, as the likeliest codec of Detect writes it. It answers false where the
// bytes do not tell their end: for text, for numbers in decimal, and for objects of Kryo5, whose bytes
// name no fields.
//
// It fails with a *FormatError for bytes that end before the value does, or go on behind it, also where
// Detect names no codec for that; and with errors.ErrUnsupported for what nothing here reads.
func Whole(data []byte) (bool, error) {
	kind := Detect(data)
	if kind.Codec == UnknownCodec {
		return false, closest(data)
	}
	return WholeAs(kind.Likeliest(), data)
}

// WholeAs is Whole for a value that a codec is known to have written. Of text it tells what no text can be.
func WholeAs(codec Name, data []byte) (bool, error) {
	name, plain, err := unpacked(codec, data)
	if err != nil {
		return false, err
	}
	switch name {
	case NameSerialization, NameMarshalling:
		g := emptyRegistry(name, nil)
		g.keepsRecords = true
		_, err := formats[name].decode(plain, g, nil)
		return err == nil, err
	case NameKryo5:
		_, whole, err := kryoClassOf(plain)
		return whole && err == nil, err
	case NameJSON, NameJSON3, NameTypedJSON, NameTypedJSON3:
		if err := wholeJSON(name, plain); err != nil {
			return false, err
		}
		return bytes.ContainsAny(plain[:1], `{["tfn`), nil
	case NameString:
		if !utf8.Valid(plain) {
			return false, &FormatError{Codec: name, Offset: 0, Problem: "expected a text of UTF-8"}
		}
	case NameBytes:
		return true, nil
	case NameLong:
		_, err := Long{}.Decode(plain)
		return false, err
	}
	return false, nil
}

// wholeJSON fails with a *FormatError for what is no JSON document.
func wholeJSON(name Name, data []byte) error {
	var document json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&document); err != nil {
		return &FormatError{Codec: name, Offset: len(data), Truncated: endsEarly(err), Problem: fmt.Sprintf("expected JSON, got %.40q: %v", data, err)}
	}
	end := int(decoder.InputOffset())
	if rest := bytes.TrimSpace(data[end:]); len(rest) > 0 {
		return &FormatError{Codec: name, Offset: end, Problem: fmt.Sprintf("%d bytes after the end of the value", len(rest))}
	}
	return nil
}

// Doubt returns a *FormatError for bytes that Detect takes for text, as they are no JSON document, and that begin as
// one: {, [ or a quotation mark, and end within it, or behind one that begins with a brace. They may be text, or a value
// of JSON of which the rest is missing. It returns nil for all others.
func Doubt(data []byte) error {
	name, plain, _ := unpacked(Detect(data).Likeliest(), data)
	if name != NameString || len(plain) == 0 || !bytes.ContainsAny(plain[:1], `{["`) {
		return nil
	}
	var wrong *FormatError
	if errors.As(wholeJSON(NameJSON, plain), &wrong) && (wrong.Truncated || wrong.Offset < len(plain) && plain[0] == '{') {
		return wrong
	}
	return nil
}

// closest returns why bytes that begin as a value of Marshalling or Kryo5 are none.
func closest(data []byte) error {
	_, river := riverFormat{}.decode(data, emptyRegistry(NameMarshalling, nil), nil)
	_, _, kryo := kryoClassOf(data)
	for _, err := range []error{river, kryo} {
		var wrong *FormatError
		if errors.As(err, &wrong) && wrong.Offset > 0 && data[0] < ' ' {
			return err
		}
	}
	return &TypeError{NameBytes, nil, "no codec known here wrote these bytes"}
}
