package interop

import (
	"context"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
)

// codecValues are values of the types that a codec of docs/protocol.md can carry.
func codecValues(codec string) []value {
	typed := []value{
		text("hello"), text("zażółć"), text(""),
		{"t": "int", "v": 42}, {"t": "int", "v": -1}, {"t": "long", "v": "9007199254740993"},
		{"t": "bool", "v": true}, {"t": "double", "v": 1.5},
		{"t": "pojo", "id": 7, "name": "bob", "total": "99"},
	}
	switch codec {
	case "string":
		return typed[:3]
	case "bytes":
		return []value{{"t": "bytes", "v": base64.StdEncoding.EncodeToString([]byte("\x00\xff raw"))}}
	case "long":
		return []value{{"t": "long", "v": "42"}, {"t": "long", "v": "-9007199254740993"}}
	case "typed-json":
		return typed[len(typed)-1:]
	case "serialization", "marshalling", "kryo5", "json":
		return typed
	}
	return nil
}

// codecCases are one case for each codec that both sides have.
func codecCases(a, b Side) []Case {
	var cases []Case
	for _, codec := range a.Program.Introduction().Codecs {
		values := codecValues(codec)
		if values == nil || !slices.Contains(b.Program.Introduction().Codecs, codec) {
			continue
		}
		cases = append(cases, Case{
			ID:          "interop/codec-" + codec,
			Requirement: "Both sides encode equal values to equal bytes, and each decodes what the other one has offered.",
			symmetric:   true,
			run: func(ctx context.Context, s *session, a, b Side) error {
				return sameBytes(ctx, s, a, b, codec, values)
			},
		})
	}
	return cases
}

// sameBytes has both sides offer each value, one after the other.
func sameBytes(ctx context.Context, s *session, a, b Side, codec string, values []value) error {
	var handles []*handle
	for _, side := range []Side{a, b} {
		h, err := s.openWith(ctx, side, codec, true)
		if err != nil {
			return err
		}
		handles = append(handles, h)
	}
	for _, v := range values {
		if err := s.sameBytesOf(ctx, handles, v); err != nil {
			return fmt.Errorf("%s: %w", shown(v), err)
		}
	}
	return s.checkEmpty(ctx)
}

func (s *session) sameBytesOf(ctx context.Context, handles []*handle, v value) error {
	for _, h := range handles {
		if err := h.offer(ctx, v, farAway); err != nil {
			return err
		}
	}
	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	var encoded []string
	for i, member := range st.pending {
		m, err := handles[i].side.Release.Layout().Unpack([]byte(member))
		if err != nil {
			return err
		}
		encoded = append(encoded, string(m.Value))
	}
	if len(encoded) != 2 || encoded[0] != encoded[1] {
		return fmt.Errorf("expected the same bytes from both, got %x", encoded)
	}
	for _, h := range handles {
		got, err := h.call(ctx, "dq.readAll", nil)
		if err != nil {
			return err
		}
		if want := plain([]value{v, v}); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%s: expected to read %s, got %s", h.side, shown(want), shown(got))
		}
	}
	_, err = handles[0].call(ctx, "dq.clear", nil)
	return err
}
