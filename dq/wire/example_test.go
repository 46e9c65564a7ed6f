package wire_test

import (
	"fmt"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// A queue on which Redisson was upgraded across 3.21.1 holds members of both layouts.
func ExampleLayout_UnpackAny() {
	id := [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
	for _, member := range [][]byte{
		wire.LayoutDLc0.Pack(id, []byte("offered by 3.21.0")),
		wire.LayoutBc0Lc0.Pack(id, []byte("offered by 3.21.1")),
	} {
		m, err := wire.LayoutBc0Lc0.UnpackAny(member)
		fmt.Printf("%s %s %v\n", m.Layout, m.Value, err)
	}
	_, err := wire.LayoutBc0Lc0.UnpackAny([]byte("no member"))
	fmt.Println(err)
	// Output:
	// dLc0 offered by 3.21.0 <nil>
	// Bc0Lc0 offered by 3.21.1 <nil>
	// neither a dLc0 nor a Bc0Lc0 member: no length field fits its 9 bytes: "no member"
}
