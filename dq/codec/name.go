package codec

import (
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Name is the name of a codec, as drivers and cases use it.
type Name string

// The codecs. NameFst is Redisson's default in some releases; this package does
// not write it.
const (
	NameString        Name = "string"
	NameBytes         Name = "bytes"
	NameLong          Name = "long"
	NameJSON          Name = "json"
	NameTypedJSON     Name = "typed-json"
	NameJSON3         Name = "json3"
	NameTypedJSON3    Name = "typed-json3"
	NameKryo5         Name = "kryo5"
	NameMarshalling   Name = "marshalling"
	NameSerialization Name = "serialization"
	NameFst           Name = "fst"
)

// Default returns the codec of a queue whose configuration names none, at a
// release of Redisson. The rule was read off new Config(config) of the releases
// at both sides of each boundary.
func Default(r wire.Release) Name {
	newer := func(major, minor int) bool { return r.AtLeast(wire.Release{Major: major, Minor: minor}) }
	switch {
	case newer(3, 19):
		return NameKryo5
	case newer(3, 13):
		return NameMarshalling
	case newer(3, 10), newer(2, 15) && !newer(3, 0):
		return NameFst
	}
	return NameJSON
}

// comings are the codecs that come or go, with the releases that have them: the classes in the
// jars of the releases on both sides of each boundary show it. Before they are a default, Kryo5
// and Marshalling need a library beside Redisson's jar, which it does not bring along.
var comings = []struct {
	name        Name
	first, last wire.Release
}{
	{NameKryo5, wire.Release{Major: 3, Minor: 11, Patch: 5}, wire.Newest()},
	{NameMarshalling, wire.Release{Major: 3, Minor: 11, Patch: 3}, wire.Release{Major: 4}},
	{NameFst, wire.Release{Major: 2, Minor: 7}, wire.Release{Major: 4}},
}

// Optional returns the names of the codecs that not every release has.
func Optional() (all []Name) {
	for _, c := range comings {
		all = append(all, c.name)
	}
	return all
}

// In reports whether a release of Redisson has the codec of a name.
func In(r wire.Release, name Name) bool {
	for _, c := range comings {
		if c.name == name {
			return r.AtLeast(c.first) && c.last.AtLeast(r)
		}
	}
	return true
}

// ByName returns the codec of a name for values whose type is known only at run
// time: nil, string, int32, int64, float64, bool, []byte, []any, map[string]any
// and the structs of classes. Decode returns structs as values, and a Collection for what Java holds in
// another class, or another order, than these are written in.
//
// NameString and NameLong write any scalar as Java's toString does and read only
// their own type; NameTypedJSON and NameTypedJSON3 read an object as the first class, or as a map
// where there is none, and an integer as int32 if it fits.
//
// A name of Name.Within compresses what the codec within writes.
//
// It fails with errors.ErrUnsupported for NameFst and unknown names, and with a
// *TypeError.
func ByName(name Name, classes ...Class) (Codec[any], error) {
	if outer, inner := name.Split(); outer != "" {
		values, err := ByName(inner, classes...)
		if err != nil {
			return nil, err
		}
		return Compressed(outer, values)
	}
	switch name {
	case NameString:
		return anyText{name, func(data []byte) (any, error) { return string(data), nil }}, nil
	case NameLong:
		return anyText{name, func(data []byte) (any, error) { return Long{}.Decode(data) }}, nil
	case NameBytes:
		return anyBytes{}, nil
	case NameTypedJSON, NameTypedJSON3:
		return newAnyJSON(name, classes)
	case NameJSON3:
		return orError(NewJackson3[any](classes...))
	case NameJSON:
		return orError(NewJackson[any](classes...))
	case NameKryo5:
		return orError(NewKryo5[any](classes...))
	case NameMarshalling:
		return orError(NewMarshalling[any](classes...))
	case NameSerialization:
		return orError(NewSerialization[any](classes...))
	}
	return nil, fmt.Errorf("codec %q is not supported; there are %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, and %s/kryo5 and the like of %s, %s, %s and %s: %w", name,
		NameString, NameBytes, NameLong, NameJSON, NameTypedJSON, NameJSON3, NameTypedJSON3, NameKryo5, NameMarshalling, NameSerialization,
		NameLZ4, NameLZ4V2, NameSnappy, NameSnappyV2, NameZStd, errors.ErrUnsupported)
}

func orError[C Codec[any]](c C, err error) (Codec[any], error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
