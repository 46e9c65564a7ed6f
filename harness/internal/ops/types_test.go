package ops_test

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
	State *State            `json:"state"`
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

// Custom is the class acme.Awkward$Custom, whose own method writes it: Marshalling and Serialization refuse to.
type Custom struct {
	_ struct{} `java:"acme.Awkward$Custom"`
}

// PageOfList is the class acme.Awkward$Page,java.util.List<java.lang.Long>.
type PageOfList struct {
	_     struct{}   `java:"acme.Awkward$Page,serialVersionUID=-6008351876909131776,of=java.util.List<java.lang.Long>"`
	First []*int64   `json:"first"`
	Items [][]*int64 `json:"items"`
}

// Hard is the class acme.Awkward$Hard.
type Hard struct {
	_        struct{}    `java:"acme.Awkward$Hard,serialVersionUID=4148910899381060566"`
	X        int32       `json:"x"`
	X_       *int32      `json:"X"`
	X_under  int32       `json:"_under"`
	Grid     any         `json:"grid" java:"[[I,final"`
	Shapes   any         `json:"shapes" java:"[Lacme.Awkward$Shape;"`
	States   []*State    `json:"states" java:"array"`
	Number   any         `json:"number" java:"java.util.OptionalInt,final"`
	Counts   any         `json:"counts" java:"java.util.EnumMap"`
	ByNumber any         `json:"byNumber" java:"java.util.Map,final"`
	ByItem   any         `json:"byItem" java:"java.util.Map,final"`
	ByList   any         `json:"byList" java:"java.util.Map,final"`
	Sets     any         `json:"sets" java:"java.util.List,final"`
	Arrays   any         `json:"arrays" java:"java.util.List,final"`
	Numbers  any         `json:"numbers" java:"java.util.List,final"`
	Items    any         `json:"items" java:"java.util.List,final"`
	List     any         `json:"list" java:"java.util.Optional,final"`
	Tags     any         `json:"tags" java:"acme.Awkward$Tags"`
	Custom   *Custom     `json:"custom"`
	Year     *java.Year  `json:"year"`
	Any      []any       `json:"any" java:"array"`
	Page     *PageOfList `json:"page"`
	Nested   *Hard       `json:"nested"`
}

// Classes are what the constructor of a codec takes.
var Classes = []java.Class{
	{Of: BaseOfLong{}},
	{Of: Item{}},
	{Of: State(""), Name: "acme.Awkward$State", Constants: []string{"NEW", "PAID"}, Bodies: true},
	{Of: Order{}},
	{Of: Circle{}},
	{Of: Page{}},
	{Of: Custom{}},
	{Of: PageOfList{}},
	{Of: Hard{}},
}
