package wire_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

var layouts = []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0}

func TestUnpackAny(t *testing.T) {
	const (
		d  = wire.LayoutDLc0
		bc = wire.LayoutBc0Lc0
	)
	id := [8]byte{8, 2, 3, 4, 5, 6, 7, 9}
	windows := func(l wire.Layout, value string) []byte {
		return wire.Member{Layout: l, ID: id, Value: []byte(value), LengthSize: wire.WindowsLengthSize}.Bytes()
	}
	for name, row := range map[string]struct {
		member []byte
		own    []wire.Layout // that read it so
		layout wire.Layout
		size   int
		value  string
	}{
		"dLc0":                  {d.Pack(id, []byte("hello")), layouts, d, 8, "hello"},
		"dLc0, empty":           {d.Pack(id, nil), layouts, d, 8, ""},
		"dLc0, zero bytes":      {d.Pack(id, []byte("\x00\x00")), layouts, d, 8, "\x00\x00"},
		"Bc0Lc0":                {bc.Pack(id, []byte("hello")), layouts, bc, 8, "hello"},
		"Bc0Lc0, empty":         {bc.Pack(id, nil), layouts, bc, 8, ""},
		"Bc0Lc0, binary":        {bc.Pack(id, []byte("\x08\x00\xff")), layouts, bc, 8, "\x08\x00\xff"},
		"dLc0, Windows":         {windows(d, "hello"), layouts, d, 4, "hello"},
		"dLc0, Windows, empty":  {windows(d, ""), layouts, d, 4, ""},
		"Bc0Lc0, Windows":       {windows(bc, "hello"), layouts, bc, 4, "hello"},
		"Bc0Lc0, Windows, long": {windows(bc, string(make([]byte, 300))), layouts, bc, 4, string(make([]byte, 300))},

		// An empty value in Bc0Lc0 whose id ends with 1 is the one byte 0 in dLc0.
		"both fit, dLc0 is the own":   {bc.Pack([8]byte{7: 1}, nil), []wire.Layout{d}, d, 8, "\x00"},
		"both fit, Bc0Lc0 is the own": {bc.Pack([8]byte{7: 1}, nil), []wire.Layout{bc}, bc, 8, ""},
		// One whose id ends with 5 also fits as five bytes behind a Windows length.
		"Windows comes last": {bc.Pack([8]byte{7: 5}, nil), layouts, bc, 8, ""},
		"Windows comes last, five zero bytes": {
			wire.Member{Layout: d, ID: id, Value: make([]byte, 5), LengthSize: 4}.Bytes(), []wire.Layout{bc}, bc, 8, ""},
		// The same as the first among the Windows lengths.
		"both fit, Windows, dLc0 is the own": {
			wire.Member{Layout: bc, ID: [8]byte{7: 1}, LengthSize: 4}.Bytes(), []wire.Layout{d}, d, 4, "\x00"},
		"both fit, Windows, Bc0Lc0 is the own": {
			wire.Member{Layout: bc, ID: [8]byte{7: 1}, LengthSize: 4}.Bytes(), []wire.Layout{bc}, bc, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, own := range row.own {
				m, err := own.UnpackAny(row.member)
				require.NoError(t, err)
				require.Equal(t, row.layout, m.Layout)
				require.Equal(t, row.size, m.LengthSize)
				require.Equal(t, row.value, string(m.Value))
				require.Equal(t, row.member, m.Bytes())
				_, err = row.layout.Other().Unpack(row.member)
				require.True(t, err != nil || len(row.own) == 1, "it refuses the other layout")
			}
		})
	}
}

func TestUnpackAnyOfNoMember(t *testing.T) {
	whole := wire.LayoutBc0Lc0.Pack([8]byte{1, 2, 3, 4, 5, 6, 7, 9}, []byte("hello"))
	for _, b := range [][]byte{
		nil, {8}, []byte("hello"), make([]byte, 11), []byte("0123456789abcdefghi"),
		whole[:len(whole)-1], append(whole[:len(whole):len(whole)], 0),
	} {
		for _, own := range layouts {
			_, err := own.UnpackAny(b)
			require.ErrorContains(t, err, fmt.Sprintf("no length field fits its %d bytes", len(b)), "%q", b)
		}
	}
}

// FuzzUnpackAny packs and unpacks: what comes out is what went in, but for the
// ambiguous ones, which read as the own layout.
func FuzzUnpackAny(f *testing.F) {
	f.Add([]byte("12345678"), []byte("hello"), []byte("\xe3\x8a\xdd}\x94.\xc1C\x06\x00\x00\x00\"0001\""))
	f.Add([]byte("\x08234567\x01"), []byte(""), []byte{8})
	f.Add([]byte("\x08234567\x05"), []byte("\x00"), []byte(nil))
	f.Fuzz(func(t *testing.T, seed, value, raw []byte) {
		var id [8]byte
		copy(id[:], seed)
		for _, own := range layouts {
			if m, err := own.UnpackAny(raw); err == nil {
				require.Equal(t, raw, m.Bytes())
			}
			m, err := own.UnpackAny(own.Pack(id, value))
			require.NoError(t, err)
			require.Equal(t, own, m.Layout)
			require.Equal(t, string(value), string(m.Value))

			other := own.Other()
			for _, size := range []int{wire.LengthSize, wire.WindowsLengthSize} {
				m, err = own.UnpackAny(wire.Member{Layout: other, ID: id, Value: value, LengthSize: size}.Bytes())
				require.NoError(t, err)
				if !ambiguous(value) {
					require.Equal(t, wire.Member{Layout: other, ID: id, Value: value, LengthSize: size}, m)
				}
			}
		}
	})
}

// ambiguous reports whether a member of the value may fit two layouts.
func ambiguous(value []byte) bool {
	switch string(value) {
	case "", "\x00", "\x00\x00\x00\x00\x00":
		return true
	}
	return false
}
