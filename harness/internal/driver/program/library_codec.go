package program

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// order is the class demo.Order of the Redisson driver program.
type order struct {
	_     struct{} `java:"demo.Order,serialVersionUID=1"`
	ID    int32    `json:"id"`
	Name  *string  `json:"name"`
	Total *int64   `json:"total"`
}

// CodecNames returns the names of PROTOCOL.md that work at a release.
func CodecNames(release wire.Release) []string {
	names := []codec.Name{
		codec.NameString, codec.NameBytes, codec.NameLong, codec.NameJSON, codec.NameTypedJSON,
		codec.NameKryo5, codec.NameMarshalling, codec.NameSerialization,
	}
	var all []string
	for _, name := range names {
		all = append(all, string(name))
	}
	if codec.Default(release) != codec.NameFst {
		all = append(all, "default")
	}
	return all
}

// NamedCodec returns a codec by its name of PROTOCOL.md; valueType is one of its types of
// values, for the codec that must be told one. It fails with dq.ErrUnsupported where there is no
// such codec.
func NamedCodec(name, valueType string, release wire.Release) (codec.Codec[any], error) {
	wanted := codec.Name(name)
	if name == "default" {
		wanted = codec.Default(release)
	}
	if compressing, _ := wanted.Split(); compressing == wanted {
		wanted = codec.Default(release).Within(compressing)
	}
	classes := []codec.Class{{Of: order{}}}
	if wanted == codec.NameTypedJSON && valueType != "pojo" {
		classes = nil
	}
	c, err := codec.ByName(wanted, classes...)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("codec %q: %w", name, dq.ErrUnsupported)
	}
	return c, err
}

// orderOf reads a typed value of type pojo.
func orderOf(typed typedValue) (any, error) {
	o := order{ID: int32(typed.ID), Name: typed.Name}
	if typed.Total != nil {
		total, err := strconv.ParseInt(*typed.Total, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("total of a pojo: expected a whole number, got %q", *typed.Total)
		}
		o.Total = &total
	}
	return o, nil
}

// typedOrder is the reverse of orderOf.
func typedOrder(value any) (any, bool) {
	o, ok := value.(order)
	if !ok {
		return nil, false
	}
	typed := map[string]any{"t": "pojo", "id": o.ID, "name": o.Name, "total": nil}
	if o.Total != nil {
		typed["total"] = strconv.FormatInt(*o.Total, 10)
	}
	return typed, true
}
