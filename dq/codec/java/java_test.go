package java_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
)

func TestZeroCodecs(t *testing.T) {
	for _, c := range []codec.Codec[int32]{java.Kryo5[int32]{}, java.Jackson[int32]{}, java.Marshalling[int32]{}, java.Serialization[int32]{}} {
		_, err := c.Encode(7)
		require.ErrorContains(t, err, "constructor")
		_, err = c.Decode([]byte("7"))
		require.ErrorContains(t, err, "constructor")
	}
}

func TestTypeErrors(t *testing.T) {
	type (
		unnamed struct{ ID int32 }
		twice   struct {
			_ struct{} `java:"demo.Order"`
		}
		two struct {
			_ struct{} `java:"demo.Two"`
			base
			low
		}
		pointed struct {
			_ struct{} `java:"demo.Pointed"`
			*base
		}
		badTag struct {
			_  struct{} `java:"demo.Bad"`
			ID int32    `json:"id" java:"Set"`
		}
		badOption struct {
			_ struct{} `java:"demo.Bad,sealed"`
		}
		badUID struct {
			_ struct{} `java:"demo.Bad,serialVersionUID=x"`
		}
	)
	for says, err := range map[string]error{
		"no certain Java type":       errorOf(java.NewKryo5[int]()),
		"its Java class is unknown":  errorOf(java.NewKryo5[unnamed]()),
		"is already":                 errorOf(java.NewKryo5[any](java.Class{Of: order{}}, java.Class{Of: twice{}})),
		"Of must be a struct":        errorOf(java.NewKryo5[any](java.Class{Of: 7})),
		"all Constants":              errorOf(java.NewKryo5[any](java.Class{Of: color("")})),
		"embeds two structs":         errorOf(java.NewKryo5[two]()),
		"embeds the pointer":         errorOf(java.NewKryo5[pointed]()),
		`java:"Set"`:                 errorOf(java.NewKryo5[badTag]()),
		"sealed":                     errorOf(java.NewKryo5[badOption]()),
		"64-bit integer":             errorOf(java.NewKryo5[badUID]()),
		"has no certain Java type; ": errorOf(java.NewSerialization[map[string]chan int]()),
	} {
		require.ErrorContains(t, err, says)
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
}

func errorOf[T any](_ T, err error) error { return err }

func encoded[T any](c codec.Codec[T], value T) []byte { return must(c.Encode(value)) }
func decoded[T any](c codec.Codec[T], data []byte) T  { return must(c.Decode(data)) }
func unhex(digits string) []byte                      { return must(hex.DecodeString(digits)) }

type mood string

// Redisson 4.7.0 wrote the values: a constant with a body has a class of its own, Mood$1, or Mood$BAD in Kotlin.
func TestEnumsWithBodies(t *testing.T) {
	class := java.Class{Of: mood(""), Name: "Enums$Mood", Constants: []string{"OK", "BAD", "PLAIN"}, Bodies: true}
	kryo5 := byName(t, "kryo5", class)
	for text, want := range map[string]any{
		"0100456e756d73244d6f6f6424b101": mood("OK"), "0100456e756d73244d6f6f6424b202": mood("BAD"), "0100456e756d73244d6f6f64244241c402": mood("BAD"),
		"0100456e756d73244d6f6fe403": mood("PLAIN"), "01006a6176612e7574696c2e41727261794c6973f4030101456e756d73244d6f6f6424b1010102456e756d73244d6f6f6424b202": []any{mood("OK"), mood("BAD")},
	} {
		require.Equal(t, want, decoded(kryo5, unhex(text)))
	}
	_, err := kryo5.Decode([]byte("\x01\x00Enums$Mood$A\xc2\x01"))
	require.ErrorAs(t, err, new(*java.ClassError), "another class in the enum")
	data := encoded[any](byName(t, "json", class), []mood{"OK"})
	require.Equal(t, `["java.util.ArrayList",[["Enums$Mood","OK"]]]`, string(data))

	class.Bodies = false
	_, err = java.NewKryo5[mood](class)
	require.ErrorContains(t, err, "as in OK { ... }; set Bodies in its Class then, else Final")
	_, err = java.NewJackson[mood](java.JSONForm{}, class)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_ = must(java.NewSerialization[mood](class))
}

// zoned is a ZonedDateTime in Kryo5 at 2:30 on 2024-10-27, in a zone.
func zoned(zone string) []byte {
	data := append([]byte{1, 0}, "java.time.ZonedDateTime"...)
	data[len(data)-1] |= 0x80
	data = append(data, 0xe8, 0x0f, 10, 27, 2, ^byte(30))
	data = append(data, zone...)
	data[len(data)-1] |= 0x80
	return data
}

// Kryo5 does not write the offset of a ZonedDateTime: the zone must be known, and Java takes the earlier instant.
func TestZonedDateTimeInKryo5(t *testing.T) {
	c := byName(t, "kryo5")
	for _, zone := range []string{"Asia/Nowhere", "Local", "../UTC"} {
		_, err := c.Decode(zoned(zone))
		require.ErrorContains(t, err, "does not know the time zone", zone)
		require.ErrorAs(t, err, new(*java.ValueError))
	}
	for zone, want := range map[string]java.ZonedDateTime{
		"Europe/Berlin": "2024-10-27T02:30+02:00[Europe/Berlin]", "Asia/Tokyo": "2024-10-27T02:30+09:00[Asia/Tokyo]", "+05:30": "2024-10-27T02:30+05:30",
		"GMT+1": "2024-10-27T02:30+01:00[GMT+1]", "GMT+01:00": "2024-10-27T02:30+01:00[GMT+01:00]", "UTC-05:30": "2024-10-27T02:30-05:30[UTC-05:30]",
		"UT+18": "2024-10-27T02:30+18:00[UT+18]", "+02": "2024-10-27T02:30+02:00[+02]",
	} {
		require.Equal(t, want, decoded(c, zoned(zone)))
		require.Equal(t, zoned(zone), encoded[any](c, want))
	}
	_, err := c.Encode(java.ZonedDateTime("2024-10-27T02:30+01:00[Europe/Berlin]"))
	require.ErrorContains(t, err, "another offset")
	for value, says := range map[java.ZonedDateTime]string{
		"2024-10-27 02:30":                       "expected a text as toString",
		"2024-03-31T02:30+02:00[Europe/Berlin]":  "clocks in Europe/Berlin skip the time 2024-03-31T02:30:00", // Java reads 03:30
		"2024-01-01T00:00Z[right/Etc/Greenwich]": "does not know the time zone",
	} {
		_, err = c.Encode(value)
		require.ErrorContains(t, err, says)
	}
}

func TestStreamsRefuse(t *testing.T) {
	type unversioned struct {
		_ struct{} `java:"demo.Unversioned"`
	}
	for _, name := range []string{"marshalling", "serialization"} {
		c := byName(t, name, java.Class{Of: plainRecord{}}, colorClass)
		_, err := c.Encode(unversioned{})
		require.ErrorContains(t, err, "the serialVersionUID of demo.Unversioned is unknown")
		for _, value := range []any{map[string]any{}, java.Date(5), java.Set{}, []any{big.NewInt(1)}} {
			_, err := c.Encode(value)
			require.ErrorContains(t, err, "not a plain value")
		}
		_, err = c.Encode(optionalBean{})
		require.Error(t, err)
		_, err = c.Encode(plainRecord{})
		require.Equal(t, name == "marshalling", err != nil, "JBoss Marshalling cannot read records")
	}
}

// Two objects of demo.Sub as the JDK and JBoss write them; the object refers to itself.
const (
	serialSub  = "aced00057372000864656d6f2e5375620000000000000001020002490001784c000473656c6674000a4c64656d6f2f5375623b787000000005" + "71007e0002"
	serialList = "aced0005737200136a6176612e7574696c2e41727261794c6973747881d21d99c7619d03000149000473697a65787000000001770400000001"
)

func TestObject(t *testing.T) {
	data := unhex(serialSub)
	c := must(java.NewSerialization[java.Object]())
	o := decoded(c, data)
	require.Equal(t, "demo.Sub", o.Class())
	require.Equal(t, `{"@class":"demo.Sub","self":"a demo.Sub that contains this","x":5}`, shown(t, c, data))
	_, err := c.Encode(o)
	require.ErrorContains(t, err, "codec.PreserveBytes")
	require.Equal(t, o, decoded(byName(t, "serialization"), data))
	unknown := new(java.ClassError)
	_, err = must(java.NewSerialization[order]()).Decode(data)
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "demo.Sub", unknown.Class)
}

// A list of two references to a list of two references, and so on: 2^60 elements in a few bytes.
func TestReferencesAreBounded(t *testing.T) {
	one := unhex(serialList)
	reference := func(handle byte) string { return "\x71\x00\x7e\x00" + string(rune(handle)) }
	var inner func(depth int) string
	inner = func(depth int) string {
		list := "\x73" + reference(0) + "\x00\x00\x00\x02\x77\x04\x00\x00\x00\x02"
		if depth == 0 {
			return list + "\x70\x70\x78"
		}
		return list + inner(depth-1) + reference(byte(62-depth)) + "\x78"
	}
	data := append(slices.Clone(one), inner(59)+"\x78"...)
	_, err := byName(t, "serialization").Decode(data)
	require.ErrorContains(t, err, "references make the value larger")
	_, err = json.Marshal(decoded(must(java.NewSerialization[java.Object]()), data))
	require.ErrorContains(t, err, "references make the value larger")
	_, err = byName(t, "serialization").Decode(append(one, strings.Repeat("\x73"+reference(0)+"\x00\x00\x00\x01\x77\x04\x00\x00\x00\x01", 1000)...))
	require.ErrorContains(t, err, "nested deeper")
}

func TestDefault(t *testing.T) {
	for text, want := range map[string]string{"2.7.0": "json", "2.15.2": "fst", "3.9.1": "json", "3.12.5": "fst", "3.18.1": "marshalling", "4.7.0": "kryo5"} {
		r := must(wire.ParseRelease(text))
		require.Equal(t, want, java.Default(r))
		require.True(t, java.Has(r, want))
		require.True(t, java.Has(r, "serialization"))
	}
	require.False(t, java.Has(wire.Newest(), "fst"))
	require.Equal(t, []string{"kryo5", "marshalling", "fst"}, java.Optional())
}

// must is for what fails only in a broken tree, such as reading one of its files.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
