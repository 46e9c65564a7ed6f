package values_test

import (
	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// BaseOfLong is the class acme.Awkward$Base,java.lang.Long.
type BaseOfLong struct {
	_       struct{}   `java:"acme.Awkward$Base,serialVersionUID=1,of=java.lang.Long"`
	ID      *int64     `json:"id"`
	Created *java.Date `json:"created"`
}

// Item is the class acme.Awkward$Item.
type Item struct {
	_     struct{}      `java:"acme.Awkward$Item,serialVersionUID=2"`
	Sku   *string       `json:"sku"`
	Count int32         `json:"count"`
	Price *java.Decimal `json:"price"`
}

// State is the enum acme.Awkward$State.
type State string

// Order is the class acme.Awkward$Order.
type Order struct {
	_ struct{} `java:"acme.Awkward$Order,serialVersionUID=3"`
	BaseOfLong
	Name  *string           `json:"name"`
	Items []*Item           `json:"items"`
	Stock map[string]*int32 `json:"stock"`
	State any               `json:"state" java:"acme.Awkward$State"`
	Shape any               `json:"shape" java:"acme.Awkward$Shape"`
}

// Circle is the class acme.Awkward$Circle.
type Circle struct {
	_      struct{} `java:"acme.Awkward$Circle,serialVersionUID=3339838389634676557,final"`
	Radius float64  `json:"radius"`
	Name   *string  `json:"name"`
}

// Page is the class acme.Awkward$Page,java.lang.Object.
type Page struct {
	_     struct{} `java:"acme.Awkward$Page,serialVersionUID=-6008351876909131776"`
	First any      `json:"first"`
	Items []any    `json:"items"`
}

// Classes are what the constructor of a codec takes.
var Classes = []java.Class{
	{Of: BaseOfLong{}},
	{Of: Item{}},
	{Of: State(""), Name: "acme.Awkward$State", Constants: []string{"NEW", "PAID"}},
	{Of: Order{}},
	{Of: Circle{}},
	{Of: Page{}},
}
