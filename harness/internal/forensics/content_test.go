package forensics_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/values"
)

const (
	dLc0   = wire.LayoutDLc0
	bc0Lc0 = wire.LayoutBc0Lc0
)

var id = [8]byte{0x44, 0xff, 0x8d, 0x61, 0x32, 0x9d, 0xdb, 0xc3}

func windows(l wire.Layout, value string) []byte {
	return wire.Member{Layout: l, ID: id, Value: []byte(value), LengthSize: wire.WindowsLengthSize}.Bytes()
}

func TestUnpackTellsTheForm(t *testing.T) {
	for _, c := range []struct {
		raw  []byte
		form forensics.Form
		name string
	}{
		{dLc0.Pack(id, []byte(`"hello"`)), forensics.DLc0, "dLc0"},
		{bc0Lc0.Pack(id, []byte(`"hello"`)), forensics.Bc0Lc0, "Bc0Lc0"},
		{windows(dLc0, "hello"), forensics.DLc0Windows, "dLc0-windows"},
		{windows(bc0Lc0, "hello"), forensics.Bc0Lc0Windows, "Bc0Lc0-windows"},
		{[]byte("hello"), forensics.Unreadable, "unreadable"},
		{nil, forensics.Unreadable, "unreadable"},
	} {
		content := forensics.Unpack(c.raw, bc0Lc0)
		require.Equal(t, c.form, content.Form, "%q", c.raw)
		require.Equal(t, c.name, content.Form.String())
		if c.form != forensics.Unreadable {
			require.Equal(t, c.raw, content.Bytes(), "it is packed as it was")
		}
	}
}

func TestReadIsWhatRedissonsScriptsMakeOfAMember(t *testing.T) {
	old, recent := dLc0.Pack(id, []byte("hello")), bc0Lc0.Pack(id, []byte("hello"))
	for _, c := range []struct {
		name  string
		raw   []byte
		by    wire.Layout
		value string
		ok    bool
	}{
		{"its own", old, dLc0, "hello", true},
		{"its own, recent", recent, bc0Lc0, "hello", true},
		{"what follows the value is ignored", append(bytes.Clone(old), "more"...), dLc0, "hello", true},
		{"the other's", old, bc0Lc0, "", false},
		{"the other's, recent", recent, dLc0, "", false},
		{"a double that begins with 7 is read as an id of 7 bytes", dLc0.Pack([8]byte{7, 1, 2, 3, 4, 5, 6, 7}, []byte("hello")), bc0Lc0, "hello", true},
		{"zeros are read as an empty value", dLc0.Pack([8]byte{}, make([]byte, 9)), bc0Lc0, "", false},
		{"an id of 0 bytes, and the double's rest is the length", dLc0.Pack([8]byte{0}, []byte("hello")), bc0Lc0, "", false},
		{"a length of 2^64-1 is 0", append(bytes.Clone(id[:]), "\xff\xff\xff\xff\xff\xff\xff\xffhello"...), dLc0, "", true},
		{"too short", []byte("hello"), dLc0, "", false},
		{"nothing", nil, bc0Lc0, "", false},
	} {
		value, ok := forensics.Read(c.raw, c.by)
		require.Equal(t, c.ok, ok, c.name)
		require.Equal(t, c.value, string(value), c.name)
	}
	wrong, ok := forensics.Read(dLc0.Pack([8]byte{0, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 256)), bc0Lc0)
	require.False(t, ok && len(wrong) == 256, "never as what was offered")
}

// What has the form of a layout is read by that layout's scripts as what was packed.
func FuzzUnpack(f *testing.F) {
	f.Add(dLc0.Pack(id, []byte("hello")), false)
	f.Add(bc0Lc0.Pack(id, []byte("hello")), true)
	f.Add(windows(dLc0, "x"), true)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, raw []byte, recent bool) {
		own := dLc0
		if recent {
			own = bc0Lc0
		}
		content := forensics.Unpack(raw, own)
		for _, l := range []wire.Layout{dLc0, bc0Lc0} {
			value, ok := forensics.Read(raw, l)
			if content.Form.Reads(l) && (!ok || !bytes.Equal(value, content.Value)) {
				t.Fatalf("%s member %q read as %q, %v", l, raw, value, ok)
			}
		}
		kind := values.Detect(content.Value)
		if text, _ := forensics.Text(content.Value, kind); len(text) > 200 {
			t.Fatalf("text of %d bytes", len(text))
		}
	})
}
