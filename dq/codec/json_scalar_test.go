package codec

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestJacksonScalars has what JsonJacksonCodec of 3.16.6, 3.21.1, 4.3.1 and 4.7.0 wrote of
// one bean, in all four the same.
func TestJacksonScalars(t *testing.T) {
	type hue string
	type bean struct {
		_        struct{}       `java:"demo.J$Bean"`
		AnyColor any            `json:"anyColor"`
		AnyDate  any            `json:"anyDate"`
		AnyDec   any            `json:"anyDec"`
		AnyF     any            `json:"anyF"`
		AnyS     any            `json:"anyS"`
		Big      *big.Int       `json:"big"`
		C        uint16         `json:"c"`
		Ch       *uint16        `json:"ch"`
		Color    hue            `json:"color"`
		Colors   map[string]hue `json:"colors"`
		Date     *Date          `json:"date"`
		Dates    []Date         `json:"dates"`
		Dec      *Decimal       `json:"dec"`
		Decs     []Decimal      `json:"decs"`
		F        float32        `json:"f"`
		Fl       *float32       `json:"fl"`
		S        int16          `json:"s"`
		Sh       *int16         `json:"sh"`
	}
	const java = `{"@class":"demo.J$Bean","anyColor":["demo.J$Color","RED"],"anyDate":["java.util.Date",5],"anyDec":["java.math.BigDecimal",1.50],` +
		`"anyF":["java.lang.Float",1.5],"anyS":["java.lang.Short",3],"big":["java.math.BigInteger",10],"c":"x","ch":"x","color":"RED",` +
		`"colors":{"@class":"java.util.HashMap","k":"RED"},"date":["java.util.Date",1700000000123],"dates":["java.util.ArrayList",[["java.util.Date",5]]],` +
		`"dec":["java.math.BigDecimal",12.50],"decs":["java.util.ArrayList",[["java.math.BigDecimal",2.50]]],"f":1.5,"fl":2.5,"s":3,"sh":4}`
	want := bean{
		AnyColor: hue("RED"), AnyDate: Date(5), AnyDec: Decimal("1.50"), AnyF: float32(1.5), AnyS: int16(3), Big: big.NewInt(10), C: 'x', Ch: ptr(uint16('x')),
		Color: "RED", Colors: map[string]hue{"k": "RED"}, Date: ptr(Date(1700000000123)), Dates: []Date{5}, Dec: ptr(Decimal("12.50")), Decs: []Decimal{"2.50"},
		F: 1.5, Fl: ptr(float32(2.5)), S: 3, Sh: ptr(int16(4)),
	}
	c, err := NewJackson[bean](Class{Of: hue(""), Name: "demo.J$Color", Constants: []string{"RED"}})
	require.NoError(t, err)
	got, err := c.Decode([]byte(java))
	require.NoError(t, err)
	require.Equal(t, want, got)
	data, err := c.Encode(got)
	require.NoError(t, err)
	require.Equal(t, java, string(data))

	for text, says := range map[string]string{
		`{"@class":"demo.J$Bean","s":70000}`:                          "does not fit 16 bits",
		`{"@class":"demo.J$Bean","c":"xy"}`:                           "one character",
		`{"@class":"demo.J$Bean","color":"PUCE"}`:                     "which the Constants of its Class lack",
		`{"@class":"demo.J$Bean","big":["java.math.BigInteger",1.5]}`: "is no integer",
	} {
		_, err := c.Decode([]byte(text))
		require.ErrorContains(t, err, says)
	}
	_, err = NewJackson[struct {
		_  struct{}  `java:"demo.U"`
		At time.Time `json:"at"`
	}]()
	require.ErrorContains(t, err, "depends on the release")
}

// TestJacksonUnusualScalars has what 3.16.6 and 4.7.0 write of values at the edges.
func TestJacksonUnusualScalars(t *testing.T) {
	c, err := NewJackson[any]()
	require.NoError(t, err)
	for java, value := range map[string]any{
		`["java.lang.Character","x"]`:      uint16('x'),
		`["java.lang.Character","€"]`:      uint16('€'),
		`["java.lang.Character","\uD83D"]`: uint16(0xd83d),
		`["java.lang.Byte",5]`:             int8(5),
		`["java.lang.Float",1.0E10]`:       float32(1e10),
		`["java.math.BigDecimal",1000]`:    Decimal("1E+3"),
		`["java.lang.Float","Infinity"]`:   float32(math.Inf(1)),
		`["java.math.BigDecimal",-0.0005]`: Decimal("-0.0005"),
	} {
		data, err := c.Encode(value)
		require.NoError(t, err)
		require.Equal(t, java, string(data))
		_, err = c.Decode(data)
		require.NoError(t, err)
	}
	_, err = c.Encode(Decimal("1E+10000"))
	require.ErrorContains(t, err, "further from the point")
}

// TestJacksonFinalClasses: an object of a final class that a field declares has no class.
func TestJacksonFinalClasses(t *testing.T) {
	type inner struct {
		_ struct{} `java:"demo.J$Fin,final"`
		Q int32    `json:"q"`
	}
	type outer struct {
		_   struct{} `java:"demo.J$Bean"`
		Fin *inner   `json:"fin"`
	}
	c, err := NewJackson[outer]()
	require.NoError(t, err)
	data, err := c.Encode(outer{Fin: &inner{Q: 1}})
	require.NoError(t, err)
	require.Equal(t, `{"@class":"demo.J$Bean","fin":{"q":1}}`, string(data))
	got, err := c.Decode(data)
	require.NoError(t, err)
	require.Equal(t, outer{Fin: &inner{Q: 1}}, got)
}
