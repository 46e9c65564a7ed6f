package gen_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/codec/gen"
)

const order = `package shop

import (
	"github.com/dq-bench/dq-bench/dq/codec"
	"math/big"
)

// Color is the enum demo.Color.
type Color string

const (
	ColorRed  Color = "RED"
	ColorBlue Color = "BLUE"
)

// Base is the class demo.Base.
type Base struct {
	_  struct{} ` + "`java:\"demo.Base,serialVersionUID=8,jackson3=no,is=active:isActive,is=empty\"`" + `
	ID int64    ` + "`json:\"id\"`" + `
}

// Order is the class demo.Order.
type Order struct {
	_ struct{} ` + "`java:\"demo.Order,serialVersionUID=-9,lacks=when\"`" + `
	Base
	Amount any ` + "`json:\"amount\" java:\"java.lang.Number\"`" + `
	Color *Color                     ` + "`json:\"color\"`" + `
	Counts []*int32 ` + "`json:\"counts\" java:\"array\"`" + `
	Days map[DayOfWeek]*string ` + "`json:\"days\"`" + `
	Events []any ` + "`json:\"events\"`" + `
	Lines []*Line                    ` + "`json:\"lines\"`" + `
	Names []*string                   ` + "`json:\"names\" java:\"Set\"`" + `
	Next  any                        ` + "`json:\"next\" java:\"demo.Base\"`" + `
	Note *string ` + "`json:\"note\" java:\"Optional\"`" + `
	Op any ` + "`json:\"op\" java:\"demo.Op\"`" + `
	Paid  *bool                      ` + "`json:\"paid\"`" + `
	Sizes map[Color][]*big.Int       ` + "`json:\"sizes\"`" + `
	// when is left out: no Go type stands for java.util.Calendar
	Words []*string ` + "`json:\"words\" java:\"array\"`" + `
	Origin codec.Origin ` + "`json:\"-\"`" + `
}

// Op is the enum demo.Op.
type Op string

const (
	OpAdd Op = "ADD"
	OpNone Op = "NONE"
)

// Line is the class demo.Order$Line.
type Line struct {
	_     struct{}       ` + "`java:\"demo.Order$Line,serialVersionUID=0,record\"`" + `
	Price *codec.Decimal ` + "`json:\"price\"`" + `
}

// Page is the class demo.Page.
type Page[T any] struct {
	_ struct{} ` + "`java:\"demo.Page,serialVersionUID=3\"`" + `
	First T ` + "`json:\"first\" java:\"T\"`" + `
	Items []T ` + "`json:\"items\" java:\"List<T>\"`" + `
	Origin codec.Origin ` + "`json:\"-\"`" + `
}

// Box is the class demo.Box.
type Box[T any] struct {
	_ struct{} ` + "`java:\"demo.Box,serialVersionUID=5\"`" + `
	Next *Box[T] ` + "`json:\"next\"`" + `
}

// Prices is the class demo.Prices.
type Prices struct {
	_ struct{} ` + "`java:\"demo.Prices,serialVersionUID=4\"`" + `
	Page[*codec.Decimal]
	ByName map[string]*Box[*Line] ` + "`json:\"byName\"`" + `
	Origin codec.Origin ` + "`json:\"-\"`" + `
}

// DayOfWeek is the enum java.time.DayOfWeek.
type DayOfWeek string

const (
	DayOfWeekMonday DayOfWeek = "MONDAY"
	DayOfWeekTuesday DayOfWeek = "TUESDAY"
	DayOfWeekWednesday DayOfWeek = "WEDNESDAY"
	DayOfWeekThursday DayOfWeek = "THURSDAY"
	DayOfWeekFriday DayOfWeek = "FRIDAY"
	DayOfWeekSaturday DayOfWeek = "SATURDAY"
	DayOfWeekSunday DayOfWeek = "SUNDAY"
)

// Classes are what the constructor of a codec takes besides the type of its values.
var Classes = []codec.Class{
	{Of: Color(""), Name: "demo.Color", Constants: []string{"RED", "BLUE"}},
	{Of: Base{}},
	{Of: Order{}},
	{Of: Op(""), Name: "demo.Op", Constants: []string{"ADD", "NONE"}},
	{Of: Line{}},
	{Of: Page[any]{}},
	{Of: Box[any]{}},
	{Of: Prices{}},
	{Of: DayOfWeek(""), Name: "java.time.DayOfWeek", Constants: []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"}},
}
`

func javaType(class string, of ...codec.JavaType) codec.JavaType {
	return codec.JavaType{Class: class, Of: of}
}

func TestSource(t *testing.T) {
	text, color := javaType("java.lang.String"), javaType("demo.Color")
	parameter := codec.JavaType{Class: "java.lang.Object", Parameter: "E"}
	source, err := gen.Source("shop", []codec.JavaClass{
		{Name: "demo.Color", Constants: []string{"RED", "BLUE"}},
		{Name: "demo.Base", SerialVersionUID: 8, Jackson3: []string{"id"}, Flags: []codec.JavaFlag{{Property: "active", Field: "isActive"}, {Property: "empty"}, {Property: "paid", Field: "paid"}}, Fields: []codec.JavaField{{Name: "id", Type: javaType("long")}}},
		{Name: "demo.Order", SerialVersionUID: -9, Super: "demo.Base", Fields: []codec.JavaField{
			{Name: "amount", Type: javaType("java.lang.Number")},
			{Name: "color", Type: color},
			{Name: "counts", Type: javaType("[]", javaType("java.lang.Integer"))},
			{Name: "days", Type: javaType("java.util.Map", javaType("java.time.DayOfWeek"), text)},
			{Name: "events", Type: javaType("java.util.List", javaType("demo.Event"))},
			{Name: "lines", Type: javaType("java.util.List", javaType("demo.Order$Line")), Holds: []string{"demo.Order$Line"}},
			{Name: "names", Type: javaType("java.util.Set", text)},
			{Name: "next", Type: javaType("demo.Base"), Holds: []string{"demo.Order"}},
			{Name: "note", Type: javaType("java.util.Optional", text)},
			{Name: "op", Type: javaType("demo.Op")},
			{Name: "paid", Type: javaType("java.lang.Boolean")},
			{Name: "sizes", Type: javaType("java.util.Map", color, javaType("java.util.List", javaType("java.math.BigInteger")))},
			{Name: "when", Type: javaType("java.util.Calendar")},
			{Name: "words", Type: javaType("[]", text)},
		}},
		{Name: "demo.Event", Interface: true},
		{Name: "demo.Op", Constants: []string{"ADD", "NONE"}, HasBodies: true},
		{Name: "demo.Op$1", Super: "demo.Op"},
		{Name: "demo.Order$Line", Record: true, Fields: []codec.JavaField{{Name: "price", Type: javaType("java.math.BigDecimal")}}},
		{Name: "demo.Page", SerialVersionUID: 3, Parameters: []string{"E"}, Fields: []codec.JavaField{
			{Name: "first", Type: parameter}, {Name: "items", Type: javaType("java.util.List", parameter)},
		}},
		{Name: "demo.Box", SerialVersionUID: 5, Parameters: []string{"E"}, Fields: []codec.JavaField{{Name: "next", Type: javaType("demo.Box", parameter)}}},
		{Name: "demo.Prices", SerialVersionUID: 4, Super: "demo.Page", SuperOf: []codec.JavaType{javaType("java.math.BigDecimal")}, Fields: []codec.JavaField{
			{Name: "byName", Type: javaType("java.util.Map", text, javaType("demo.Box", javaType("demo.Order$Line")))},
		}},
	})
	require.NoError(t, err)
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	require.Equal(t, squeeze(order), squeeze(string(source)))
	_, err = gen.Source("no package", nil)
	require.ErrorContains(t, err, "no name of a Go package")
}

// samples returns the messages of the corpus that a codec wrote.
func samples(t *testing.T, name codec.Name) (all [][]byte) {
	file, err := os.Open("../testdata/corpus/3.21.1.tsv")
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if parts := strings.Split(lines.Text(), "\t"); parts[0] == "dto" && parts[1] == string(name) && parts[5] != "-" {
			data, err := hex.DecodeString(parts[5])
			require.NoError(t, err)
			all = append(all, data)
		}
	}
	require.NoError(t, lines.Err())
	return all
}

// wholeKryo5 returns the values of objects that Whole.java makes, by the simple names of their classes.
func wholeKryo5(t *testing.T) map[string][][]byte {
	file, err := os.Open("../testdata/whole/4.7.0.tsv")
	require.NoError(t, err)
	defer file.Close()
	all := map[string][][]byte{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		parts := strings.Split(lines.Text(), "\t")
		words := strings.Fields(parts[1])
		if parts[0] != string(codec.NameKryo5) || words[0] == "any" {
			continue
		}
		name := "Nulls"
		if words[0] == "is" {
			name = words[1]
		}
		data, err := hex.DecodeString(parts[2])
		require.NoError(t, err)
		all[name] = append(all[name], data)
	}
	require.Len(t, all, 6)
	return all
}

// program reads values with the types that stand beside it, and writes them again.
const program = `package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/dq-bench/dq-bench/dq/codec"
)

func main() {
	values, err := codec.ByName(%q, Classes...)
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	read, written := 0, 0
	for lines.Scan() {
		data, _ := hex.DecodeString(lines.Text())
		value, err := values.Decode(data)
		if err != nil {
			fmt.Println(err)
			continue
		}
		read++
		if again, err := values.Encode(value); err == nil && string(again) == string(data) {
			written++
		}
	}
	fmt.Println(read, "read,", written, "written identically")
}
`

// run compiles types and the program beside them, in the module, whose packages it imports,
// and returns what it prints of the values.
func run(t *testing.T, name codec.Name, classes []codec.JavaClass, values [][]byte) string {
	source, err := gen.Source("main", classes)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("testdata", 0o700))
	dir, err := os.MkdirTemp("testdata", "corpus-")
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = os.RemoveAll(dir)
		_ = os.Remove("testdata") // unless it holds something else
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "types.go"), source, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), fmt.Appendf(nil, program, name), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "go", "run", "./"+dir)
	var stdin bytes.Buffer
	for _, data := range values {
		fmt.Fprintf(&stdin, "%x\n", data)
	}
	command.Stdin = &stdin
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

// The types that are made of the values of the corpus read all of them.
func TestTypesOfTheCorpusReadIt(t *testing.T) {
	for _, name := range []codec.Name{codec.NameSerialization, codec.NameMarshalling} {
		t.Run(string(name), func(t *testing.T) {
			all := samples(t, name)
			_, classes, err := codec.Describe(all...)
			require.NoError(t, err)
			out := run(t, name, classes, all)
			require.Contains(t, out, fmt.Sprintf("%d read, ", len(all)))
			t.Log(out)
		})
	}
}

// Those that are made of class files read Kryo5 too, which names no fields, and write what
// they read identically.
func TestTypesOfClassFilesReadKryo5(t *testing.T) {
	all, values := map[string]codec.JavaClass{}, [][]byte(nil)
	for _, data := range samples(t, codec.NameKryo5) {
		loaded, err := classfile.Load("../testdata/corpus/acme.jar", codec.Detect(data).Class)
		if err != nil {
			continue // a class that the jar lacks
		}
		values = append(values, data)
		for _, c := range loaded {
			all[c.Name] = c
		}
	}
	for name, data := range wholeKryo5(t) {
		loaded, err := classfile.Load("../testdata/whole/whole.jar", "demo.Whole$"+name)
		require.NoError(t, err)
		values = append(values, data...)
		for _, c := range loaded {
			all[c.Name] = c
		}
	}
	require.Greater(t, len(values), 40)
	classes := slices.SortedFunc(maps.Values(all), func(a, b codec.JavaClass) int { return strings.Compare(a.Name, b.Name) })
	out := run(t, codec.NameKryo5, classes, values)
	t.Log(out)
	require.Equal(t, fmt.Sprintf("%d read, %[1]d written identically", len(values)), out)
}
