package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What releases write in two ways is read where the bytes fit one of them, and refused by
// class and field where they fit both, or are to be written.
func TestKryo5Atomics(t *testing.T) {
	type counter struct {
		_     struct{} `java:"demo.Counter"`
		Count any      `json:"count" java:"java.util.concurrent.atomic.AtomicLong"`
		Next  int64    `json:"next"`
		ZZ    []byte   `json:"zz"`
	}
	c, err := NewKryo5[counter]()
	require.NoError(t, err)
	message := func(count string, rest ...byte) []byte {
		return append([]byte("\x01\x00demo.Counte\xf2\x01\x01java.util.concurrent.atomic.AtomicLon\xe7"+count), rest...)
	}
	for form, count := range map[string]string{"of its fields": "\xd8\x04", "fixed": "\x2c\x01\x00\x00\x00\x00\x00\x00"} {
		got, err := c.Decode(message(count, 6, 3, 'a', 'b'))
		require.NoError(t, err, form)
		require.Equal(t, counter{Count: AtomicLong(300), Next: 3, ZZ: []byte("ab")}, got, form)
		_, err = c.Encode(got)
		require.ErrorContains(t, err, "field count: codec kryo5: a java.util.concurrent.atomic.AtomicLong, which the releases of Redisson write in two ways")
	}
	_, err = c.Decode(message("\x02\x02\x09abcde", 2, 2, 'x')) // 1, 1 and 8 bytes, or a long, 1 and 1 byte
	var value *ValueError
	require.ErrorAs(t, err, &value)
	require.ErrorContains(t, err, "field count of demo.Counter: ")
	_, err = c.Encode(counter{Count: "300"})
	require.ErrorContains(t, err, "a string, where the tag of the field says java.util.concurrent.atomic.AtomicLong")
}

// What Redissons wrote of them is read right or refused, by each release's form.
func TestKryo5AtomicsOfRedisson(t *testing.T) {
	read, refused := 0, 0
	for file, vectors := range readFields(t, "*.tsv") {
		for _, v := range vectors {
			if !v.isKryo5Atomic() {
				continue
			}
			got, err := v.codecFor(t, v.want()).Decode(v.bytes)
			if err != nil {
				require.ErrorContains(t, err, "the bytes fit both", v.text)
				refused++
				continue
			}
			require.Equal(t, v.want(), got, "%s %s", file, v.text)
			read++
		}
	}
	t.Logf("%d read, %d refused", read, refused)
	require.Greater(t, read, refused)
}
