package codec_test

import (
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Order is demo.Order of the Java services: int id, String name, Long total.
type Order struct {
	_     struct{} `java:"demo.Order,serialVersionUID=1"`
	ID    int32    `json:"id"`
	Name  string   `json:"name"`
	Total int64    `json:"total" java:"Long"`
}

var bob = Order{ID: 7, Name: "bob", Total: 99}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func ExampleJSON() {
	data := must(codec.JSON[Order]{}.Encode(bob))
	fmt.Printf("%s\n%+v\n", data, must(codec.JSON[Order]{}.Decode(data)).Name)
	// Output:
	// {"id":7,"name":"bob","total":99}
	// bob
}

func ExampleJackson() {
	orders := must(codec.NewJackson[Order]())
	data := must(orders.Encode(bob))
	fmt.Printf("%s\n%v\n", data, must(orders.Decode(data)) == bob)
	// Output:
	// {"@class":"demo.Order","id":7,"name":"bob","total":["java.lang.Long",99]}
	// true
}

func ExampleKryo5() {
	orders := must(codec.NewKryo5[Order]())
	data := must(orders.Encode(bob))
	fmt.Printf("%x\n%v\n", data, must(orders.Decode(data)) == bob)
	// Output:
	// 010064656d6f2e4f726465f20e626fe201c601
	// true
}

func ExampleMarshalling() {
	texts := must(codec.NewMarshalling[string]())
	data := must(texts.Encode("hello"))
	fmt.Printf("%x %s\n", data, must(texts.Decode(data)))
	// Output: 043e0568656c6c6f hello
}

func ExampleSerialization() {
	texts := must(codec.NewSerialization[string]())
	data := must(texts.Encode("hello"))
	fmt.Printf("%x %s\n", data, must(texts.Decode(data)))
	// Output: aced000574000568656c6c6f hello
}

func ExampleClass() {
	// Point is generated code, so that the class cannot be told in a tag.
	type Point struct {
		X int32 `json:"x"`
	}
	points := must(codec.NewJackson[Point](codec.Class{Of: Point{}, Name: "demo.Point"}))
	fmt.Printf("%s\n", must(points.Encode(Point{X: 3})))
	// Output: {"@class":"demo.Point","x":3}
}

// Rush is demo.Rush of the Java services, a subclass of demo.Order.
type Rush struct {
	_ struct{} `java:"demo.Rush,serialVersionUID=2"`
	Order
	Hours int32 `json:"hours"`
}

func ExampleClass_superClass() {
	orders := must(codec.NewSerialization[Rush]())
	rush := Rush{Order: bob, Hours: 4}
	fmt.Println(must(orders.Decode(must(orders.Encode(rush)))) == rush)

	// Flat has the fields of demo.Order as its own.
	type Flat struct {
		_     struct{} `java:"demo.Rush,serialVersionUID=2,super=demo.Order"`
		ID    int32    `json:"id"`
		Hours int32    `json:"hours"`
	}
	flat := must(codec.NewSerialization[Flat]())
	_, err := flat.Encode(Flat{ID: 7, Hours: 4})
	fmt.Println(err)
	// Output:
	// true
	// codec serialization: Go type codec_test.Flat: demo.Rush has the super class demo.Order, which has fields of its own, and Java would read none of them from this struct; embed a struct of class demo.Order in it and move them there
}

func ExampleString() {
	fmt.Printf("%s\n", must(codec.String{}.Encode("hello")))
	// Output: hello
}

func ExampleLong() {
	fmt.Printf("%s\n", must(codec.Long{}.Encode(42)))
	// Output: 42
}

func ExampleBytes() {
	fmt.Printf("%x\n", must(codec.Bytes{}.Encode([]byte{1, 2, 3})))
	// Output: 010203
}

func ExampleByName() {
	release := must(wire.LookupRelease("3.16.6"))
	values := must(codec.ByName(codec.Default(release), codec.Class{Of: Order{}}))
	fmt.Printf("%x\n", must(values.Encode(int64(42))))
	_, err := codec.ByName(codec.NameFst)
	fmt.Println(errors.Is(err, errors.ErrUnsupported))
	// Output:
	// 044c000000000000002a
	// true
}

// What a struct does not hold stays with the value that was read.
func ExampleKeep() {
	type part struct {
		ID int32 `json:"id"`
	}
	parts := codec.Keep(codec.JSON[part]{})
	order := must(parts.Decode([]byte(`{"id":7,"note":"before noon"}`)))
	fmt.Println(order.Value().ID)
	fmt.Printf("%s\n", must(parts.Encode(order)))
	fmt.Printf("%s\n", must(parts.Encode(codec.RawOf(part{ID: 8}))))
	// Output:
	// 7
	// {"id":7,"note":"before noon"}
	// {"id":8}
}

func ExampleDetect() {
	for _, data := range []string{`{"@class":"demo.Order","id":7}`, "\x03hell\xef", "\x04\x3e\x05hello"} {
		kind := codec.Detect([]byte(data))
		fmt.Println(kind.Codec, kind.Class)
	}
	// Output:
	// json|json3 demo.Order
	// kryo5 java.lang.String
	// marshalling java.lang.String
}

// A struct that does not fit what Java wrote is told field by field.
func ExampleCheck() {
	type order struct {
		_     struct{} `java:"demo.Order,serialVersionUID=2"`
		ID    int64    `json:"id"`
		Total *int64   `json:"total"`
	}
	orders := must(codec.NewSerialization[Order]())
	for _, d := range codec.Check[order](codec.NameSerialization, must(orders.Encode(bob))) {
		fmt.Println(d)
	}
	// Output:
	// demo.Order: its serialVersionUID is 1, and 2 in the java tag of codec_test.order: Java refuses what is written
	// demo.Order.id: declared int in Java, and what stands for long in the struct
	// demo.Order.name: declared java.lang.String in Java, and left out of the struct: null or 0 in what is written
}
