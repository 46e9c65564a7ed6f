package codec

import (
	"bytes"
	"errors"
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
	name, plain, err := unpacked(kind.Likeliest(), data)
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
		return whole, err
	case NameJSON, NameJSON3, NameTypedJSON, NameTypedJSON3:
		return bytes.ContainsAny(plain[:1], `{["tfn`), nil
	case NameCBOR, NameMsgPack:
		return true, nil
	case NameSmile:
		return false, &TypeError{name, nil, "its values are told by their first bytes, and not read"}
	}
	return false, nil
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
