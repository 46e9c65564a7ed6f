package java_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// color is demo.Color of testdata/java.
type color string

var colorClass = java.Class{Of: color(""), Name: "demo.Color", Constants: []string{"RED", "GREEN", "BLUE"}, Final: true}

// bean is a class of testdata/java with one field of a type, and one behind it that
// shows where the value ends. Each test gives it the class by name.
type bean[T any] struct {
	Value T      `json:"value"`
	ZZ    string `json:"zz"`
}

type (
	floatBean struct {
		Value float32  `json:"value"`
		Boxed *float32 `json:"boxed"`
		ZZ    string   `json:"zz"`
	}
	smallBean struct {
		A  int8    `json:"a"`
		B  *int8   `json:"b"`
		C  int16   `json:"c"`
		D  *int16  `json:"d"`
		E  uint16  `json:"e"`
		F  *uint16 `json:"f"`
		ZZ string  `json:"zz"`
	}
	setBean[T any] struct {
		Value []T    `json:"value" java:"Set"`
		ZZ    string `json:"zz"`
	}
	linkedHashSetBean struct {
		Value []string `json:"value" java:"LinkedHashSet"`
		ZZ    string   `json:"zz"`
	}
	treeSetBean struct {
		Value []string `json:"value" java:"TreeSet"`
		ZZ    string   `json:"zz"`
	}
	arrayBean[T any] struct {
		Value []T    `json:"value" java:"array"`
		ZZ    string `json:"zz"`
	}
	optionalBean struct {
		Value *string `json:"value" java:"Optional"`
		ZZ    string  `json:"zz"`
	}
	leftOut struct {
		ZZ string `json:"zz"`
	}
	plainRecord struct {
		_      struct{}         `java:"demo.PlainRecord,record"`
		Number int32            `json:"number"`
		Text   *string          `json:"text"`
		Total  *int64           `json:"total"`
		At     *java.Date       `json:"at"`
		Tags   []string         `json:"tags"`
		Counts map[string]int64 `json:"counts"`
		Color  *color           `json:"color"`
		Done   bool             `json:"done"`
	}
	baseBean struct {
		_       struct{}   `java:"demo.BaseBean,serialVersionUID=60"`
		Created *java.Date `json:"created"`
		Color   *color     `json:"color"`
		Version int64      `json:"version"`
	}
	orderBean struct {
		_ struct{} `java:"demo.OrderBean,serialVersionUID=61"`
		baseBean
		Total  *java.Decimal `json:"total"`
		Tags   []string      `json:"tags" java:"Set"`
		Parent *orderBean    `json:"parent"`
		Matrix [][]int64     `json:"matrix"`
	}
	dateBean struct {
		_     struct{}   `java:"demo.DateBean,serialVersionUID=50"`
		Value *java.Date `json:"value"`
		ZZ    string     `json:"zz"`
	}
)

func values[T any](all ...T) []any {
	beans := make([]any, len(all))
	for i, value := range all {
		beans[i] = bean[T]{value, "end"}
	}
	return beans
}

func sets[T any](all ...[]T) []any {
	beans := make([]any, len(all))
	for i, value := range all {
		beans[i] = setBean[T]{value, "end"}
	}
	return beans
}

func arrays[T any](all ...[]T) []any {
	beans := make([]any, len(all))
	for i, value := range all {
		beans[i] = arrayBean[T]{value, "end"}
	}
	return beans
}

func ptr[T any](value T) *T { return &value }

func inBean(ms int64) *dateBean { return &dateBean{Value: ptr(java.Date(ms)), ZZ: "in"} }

func bigInt(text string) *big.Int {
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

var (
	javaID   = java.UUID{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	epoch    = time.Unix(0, 0).UTC()
	leapDay  = java.LocalDate("2024-02-29")
	leapTime = java.LocalDateTime("2024-02-29T23:59:58.000000007")
)

// fieldValues has the values of FieldVectors.java, by class and in its order.
var fieldValues = map[string][]any{
	"demo.FloatBean": {
		floatBean{1.5, ptr(float32(-2.25)), "end"}, floatBean{float32(math.NaN()), nil, "end"}, floatBean{float32(math.Inf(-1)), ptr(float32(0)), "end"},
	},
	"demo.SmallBean":          {smallBean{-5, ptr(int8(7)), -300, ptr(int16(300)), 'x', ptr(uint16(0x20ac)), "end"}, smallBean{ZZ: "end"}},
	"demo.DateBean":           {dateBean{Value: ptr(java.Date(1700000000123)), ZZ: "end"}, dateBean{Value: ptr(java.Date(-1)), ZZ: "end"}, dateBean{Value: ptr(java.Date(0)), ZZ: "end"}, dateBean{ZZ: "end"}},
	"demo.BigIntegerBean":     values(bigInt("123456789012345678901234567890"), big.NewInt(-129), big.NewInt(0), nil),
	"demo.BigDecimalBean":     values(ptr(java.Decimal("12.50")), ptr(java.Decimal("-0.001")), ptr(java.Decimal("1E+3")), ptr(java.Decimal("0")), ptr(java.Decimal("123456789012345678901234567890.123")), ptr(java.Decimal("3.00E+4")), nil),
	"demo.UuidBean":           values(&javaID, &java.UUID{15: 1}, nil),
	"demo.ColorBean":          values(ptr(color("RED")), ptr(color("BLUE")), nil),
	"demo.InstantBean":        values(ptr(time.Unix(1700000000, 123456789).UTC()), &epoch, ptr(time.Unix(-5, 1).UTC()), nil),
	"demo.DurationBean":       values(ptr(90*time.Second+5), ptr(time.Duration(0)), ptr(time.Duration(-1)), nil),
	"demo.LocalDateBean":      values(&leapDay, ptr(java.LocalDate("-0003-01-01")), nil),
	"demo.LocalTimeBean":      values(ptr(java.LocalTime("13:00")), ptr(java.LocalTime("13:05")), ptr(java.LocalTime("13:05:07")), ptr(java.LocalTime("13:05:07.000000009")), ptr(java.LocalTime("00:00")), nil),
	"demo.LocalDateTimeBean":  values(&leapTime, ptr(java.LocalDateTime("1999-12-31T00:00")), nil),
	"demo.OffsetDateTimeBean": values(ptr(java.OffsetDateTime("2024-02-29T23:59:58.000000007+02:00")), ptr(java.OffsetDateTime("2024-02-29T23:00-01:01:01")), nil),
	"demo.ZonedDateTimeBean":  values(ptr(java.ZonedDateTime("2024-02-29T23:59:58.000000007+01:00[Europe/Berlin]")), nil),
	"demo.YearBean":           values(ptr(java.Year("2024")), ptr(java.Year("-3")), nil),
	"demo.YearMonthBean":      values(ptr(java.YearMonth("2024-02")), ptr(java.YearMonth("-0003-12")), nil),
	"demo.MonthDayBean":       values(ptr(java.MonthDay("--02-29")), nil),
	"demo.OffsetTimeBean":     values(ptr(java.OffsetTime("13:05:07.000000009+02:00")), ptr(java.OffsetTime("13:00-01:01:01")), nil),
	"demo.LocaleBean":         values(ptr(java.Locale("de_DE")), ptr(java.Locale("en")), ptr(java.Locale("")), ptr(java.Locale("th_TH_TH1")), nil),
	"demo.OptionalBean":       {optionalBean{ptr("here"), "end"}, optionalBean{nil, "end"}},
	"demo.ListBean": values([]*string{ptr("a"), ptr("b")}, []*string{ptr("a"), ptr("b")}, []*string{ptr("a"), ptr("b")}, []*string{}, []*string{ptr("a")}, []*string{ptr("a"), ptr("b")},
		[]*string{ptr("a"), ptr("b"), ptr("c")}, []*string{}, []*string{ptr("a")}, []*string{ptr("a"), ptr("b")},
		[]*string{ptr("a"), nil}, []*string{ptr("a"), ptr("b")}, []*string{ptr("a"), ptr("b"), ptr("c")}, nil),
	"demo.SetBean": sets([]*string{ptr("a"), ptr("b"), ptr("c")}, []*string{}, []*string{ptr("z"), ptr("a")}, []*string{ptr("a"), ptr("z")}, []*string{ptr("a")},
		[]*string{}, []*string{ptr("a")}, []*string{ptr("a"), ptr("b")}, []*string{nil, ptr("a")}, nil),
	"demo.LongSetBean":       sets([]int64{5, 7, 300}, []int64{}, nil),
	"demo.DateSetBean":       sets([]java.Date{1700000000123, 5}),
	"demo.LinkedHashSetBean": {linkedHashSetBean{[]string{"z", "a"}, "end"}, linkedHashSetBean{[]string{}, "end"}, linkedHashSetBean{nil, "end"}},
	"demo.TreeSetBean":       {treeSetBean{[]string{"a", "z"}, "end"}, treeSetBean{[]string{}, "end"}, treeSetBean{nil, "end"}},
	"demo.MapBean": values(map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1"}, map[string]string{}, map[string]string{"a": "1"},
		map[string]string{"a": "1", "b": "2"}, map[string]string{}, map[string]string{"a": "1"}, map[string]string{"a": "1"}, map[string]string{"a": "1"}),
	"demo.DateListBean":     values([]*java.Date{ptr(java.Date(5)), ptr(java.Date(6))}, []*java.Date{ptr(java.Date(5)), nil}, []*java.Date{}),
	"demo.DecimalMapBean":   values(map[string]java.Decimal{"a": "1.2", "b": "34.5", "c": "1.2"}),
	"demo.InstantListBean":  values([]*time.Time{&epoch, ptr(time.Unix(1, 2).UTC())}, []*time.Time{&epoch, nil}),
	"demo.ColorListBean":    values([]*color{ptr(color("RED")), ptr(color("BLUE")), ptr(color("RED"))}, []*color{ptr(color("GREEN")), nil}),
	"demo.UuidMapBean":      values(map[string]*java.UUID{"a": &javaID, "b": nil}),
	"demo.ListsBean":        values([][]*string{{ptr("a"), ptr("b")}, {}, {ptr("c"), nil}}, [][]*string{{ptr("a")}, nil}, [][]*string{{}, {}}),
	"demo.ListMapBean":      values(map[string][]int64{"a": {1, 2}, "b": {}, "c": nil}),
	"demo.MapListBean":      values([]map[string]*int32{{"a": ptr(int32(1)), "b": nil}, {}}),
	"demo.BeanListMapBean":  values(map[string][]*dateBean{"a": {inBean(5), inBean(6)}, "b": {inBean(7), nil}}),
	"demo.StringArrayBean":  arrays([]*string{ptr("a"), nil, ptr("")}, []*string{}, nil),
	"demo.IntArrayBean":     arrays([]int32{1, -300, 70000}, []int32{}, nil),
	"demo.LongArrayBean":    arrays([]int64{1, -300, 1 << 40}, nil),
	"demo.DoubleArrayBean":  arrays([]float64{1.5, math.Copysign(0, -1)}, nil),
	"demo.BoolArrayBean":    arrays([]bool{true, false, true, true, false, false, false, false, true}, make([]bool, 8), nil),
	"demo.IntegerArrayBean": arrays([]*int32{ptr(int32(1)), nil, ptr(int32(3))}, nil),
	"demo.ColorArrayBean":   arrays([]*color{ptr(color("RED")), nil, ptr(color("RED"))}, nil),
	"demo.DateArrayBean":    arrays([]*java.Date{ptr(java.Date(5)), nil, ptr(java.Date(6))}, nil),
	"demo.BeanArrayBean":    arrays([]*dateBean{inBean(5), nil}, []*dateBean{}, nil),
	"demo.PlainRecord": {
		plainRecord{Number: 7, Text: ptr("seven"), Total: ptr(int64(99)), At: ptr(java.Date(5)), Tags: []string{"a", "b"}, Counts: map[string]int64{"k": 1}, Color: ptr(color("BLUE")), Done: true},
		plainRecord{},
	},
	"demo.OrderBean": {
		orderBean{
			baseBean: baseBean{Created: ptr(java.Date(5)), Color: ptr(color("RED")), Version: 3}, Total: ptr(java.Decimal("9.90")), Tags: []string{"a", "b"},
			Parent: &orderBean{baseBean: baseBean{Created: ptr(java.Date(6)), Version: 2}, Total: ptr(java.Decimal("1E+3"))}, Matrix: [][]int64{{1, 2}, {}},
		},
		orderBean{},
	},
	"demo.AnyBean": values[any](java.Date(5), java.Decimal("1.50"), big.NewInt(77), javaID, color("GREEN"), epoch, leapDay, time.Second, uint16('x'), int8(1), int16(2), float32(1.5),
		java.Set{"a", "b"}, java.Locale("de_DE"), java.LocalTime("01:02"), java.LocalDateTime("2024-01-01T01:01"), java.OffsetDateTime("2024-02-29T23:59:58.000000007Z")),
}

// TestFields reads the values of FieldVectors.java that Redisson 3.21.1 wrote, and writes them again.
func TestFields(t *testing.T) {
	data, err := os.ReadFile("testdata/fields.tsv")
	require.NoError(t, err)
	read := 0
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		name, class, text := parts[0], parts[1], parts[3]
		number, err := strconv.Atoi(parts[2])
		require.NoError(t, err)
		written, err := hex.DecodeString(parts[4])
		if parts[4] == "-" || err != nil {
			continue // Redisson cannot write it
		}
		var want any
		if all := fieldValues[class]; number < len(all) {
			want = all[number]
		}
		if strings.HasSuffix(class, " skipped") {
			want = leftOut{"end"}
		}
		if want == nil || name == "kryo5" && want == any(leftOut{"end"}) {
			continue
		}
		read++
		t.Run(fmt.Sprintf("%s %s %d", name, class, number), func(t *testing.T) {
			c := byName(t, name, fieldClasses(class, want)...)
			got, err := c.Decode(written)
			require.NoError(t, err, "%s\n%x", text, written)
			if !strings.Contains(text, "NaN") {
				require.Equal(t, want, got, "%x", written)
			}
			for cut := range written {
				_, err := c.Decode(written[:cut])
				require.Error(t, err, "cut at %d of %x", cut, written)
			}
			again, err := c.Encode(want)
			switch {
			case name != "kryo5" && err != nil:
				require.ErrorContains(t, err, "not a plain value")
			case name != "kryo5" && class == "demo.ListBean" || isOtherClass(class, number):
				require.NoError(t, err)
				back, err := c.Decode(again)
				require.NoError(t, err)
				require.Equal(t, want, back)
			case want == any(leftOut{"end"}):
			default:
				require.NoError(t, err)
				require.Equal(t, hex.EncodeToString(written), hex.EncodeToString(again), text)
			}
		})
	}
	require.Greater(t, read, 500)
}

func fieldClasses(class string, value any) []java.Class {
	classes := []java.Class{colorClass, {Of: dateBean{}}, {Of: plainRecord{}}, {Of: orderBean{}}}
	if _, has := reflect.TypeOf(value).FieldByName("_"); !has {
		name, _, _ := strings.Cut(class, " ")
		classes = append(classes, java.Class{Of: value, Name: name, SerialVersionUID: 50})
	}
	return classes
}

// isOtherClass reports whether Java has another class of collection than the tag of the field, so that other bytes are written.
func isOtherClass(class string, number int) bool {
	switch class {
	case "demo.ListBean":
		return number != 0 && number != 10 && number != 13
	case "demo.SetBean":
		return number >= 2 && number <= 7
	}
	return class == "demo.MapBean"
}
