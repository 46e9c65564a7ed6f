package classfile

// Instructions that are not followed by what they take from the stack and put there alone.
const (
	opNull          = 0x01
	opLoad          = 0x19 // of a reference, as those with no other name here
	opLoad0         = 0x2a
	opStoreInt      = 0x36
	opStore         = 0x3a
	opPop           = 0x57
	opPop2          = 0x58
	opDup           = 0x59
	opSwap          = 0x5f
	opGoto          = 0xa7
	opTableSwitch   = 0xaa
	opLookupSwitch  = 0xab
	opReturnInt     = 0xac
	opReturnThat    = 0xb0
	opReturn        = 0xb1
	opGetStatic     = 0xb2
	opPutStatic     = 0xb3
	opGetField      = 0xb4
	opPutField      = 0xb5
	opInvokeSpecial = 0xb7
	opInvokeStatic  = 0xb8
	opInvokeDynamic = 0xba
	opThrow         = 0xbf
	opCast          = 0xc0
	opMultiArray    = 0xc5
)

// effect is what an instruction takes from the stack and puts there, in places of 32 bits, and how many bytes it has,
// 0 for one that is not followed.
type effect struct {
	pops, pushes, length byte
	branches             bool
}

// effects has the effects of all instructions: of those that are followed in another way the length alone.
var effects = func() (all [256]effect) {
	for _, row := range []struct {
		first, last, step int
		effect
	}{
		{0x00, 0x01, 1, effect{0, 0, 1, false}}, // nothing, null
		{0x02, 0x08, 1, effect{0, 1, 1, false}}, // constants
		{0x09, 0x0a, 1, effect{0, 2, 1, false}},
		{0x0b, 0x0d, 1, effect{0, 1, 1, false}},
		{0x0e, 0x0f, 1, effect{0, 2, 1, false}},
		{0x10, 0x12, 2, effect{0, 1, 2, false}},
		{0x11, 0x13, 2, effect{0, 1, 3, false}},
		{0x14, 0x14, 1, effect{0, 2, 3, false}},
		{0x15, 0x17, 2, effect{0, 1, 2, false}}, // loads
		{0x16, 0x18, 2, effect{0, 2, 2, false}},
		{0x19, 0x19, 1, effect{0, 1, 2, false}},
		{0x1a, 0x1d, 1, effect{0, 1, 1, false}},
		{0x1e, 0x21, 1, effect{0, 2, 1, false}},
		{0x22, 0x25, 1, effect{0, 1, 1, false}},
		{0x26, 0x29, 1, effect{0, 2, 1, false}},
		{0x2a, 0x2d, 1, effect{0, 1, 1, false}},
		{0x2e, 0x30, 2, effect{2, 1, 1, false}}, // of arrays
		{0x2f, 0x31, 2, effect{2, 2, 1, false}},
		{0x32, 0x35, 1, effect{2, 1, 1, false}},
		{0x36, 0x3a, 1, effect{0, 0, 2, false}}, // stores
		{0x3b, 0x4e, 1, effect{0, 0, 1, false}},
		{0x4f, 0x51, 2, effect{3, 0, 1, false}}, // into arrays
		{0x50, 0x52, 2, effect{4, 0, 1, false}},
		{0x53, 0x56, 1, effect{3, 0, 1, false}},
		{0x57, 0x5f, 1, effect{0, 0, 1, false}}, // pop, dup and swap
		{0x60, 0x72, 2, effect{2, 1, 1, false}}, // arithmetic
		{0x61, 0x73, 2, effect{4, 2, 1, false}},
		{0x74, 0x76, 2, effect{1, 1, 1, false}},
		{0x75, 0x77, 2, effect{2, 2, 1, false}},
		{0x78, 0x7c, 2, effect{2, 1, 1, false}},
		{0x79, 0x7d, 2, effect{3, 2, 1, false}},
		{0x7e, 0x82, 2, effect{2, 1, 1, false}},
		{0x7f, 0x83, 2, effect{4, 2, 1, false}},
		{0x84, 0x84, 1, effect{0, 0, 3, false}},
		{0x85, 0x87, 2, effect{1, 2, 1, false}}, // conversions
		{0x86, 0x8b, 5, effect{1, 1, 1, false}},
		{0x88, 0x89, 1, effect{2, 1, 1, false}},
		{0x8a, 0x8f, 5, effect{2, 2, 1, false}},
		{0x8c, 0x8d, 1, effect{1, 2, 1, false}},
		{0x8e, 0x90, 2, effect{2, 1, 1, false}},
		{0x91, 0x93, 1, effect{1, 1, 1, false}},
		{0x94, 0x94, 1, effect{4, 1, 1, false}}, // comparisons
		{0x95, 0x96, 1, effect{2, 1, 1, false}},
		{0x97, 0x98, 1, effect{4, 1, 1, false}},
		{0x99, 0x9e, 1, effect{1, 0, 3, true}}, // branches
		{0x9f, 0xa6, 1, effect{2, 0, 3, true}},
		{0xa7, 0xa7, 1, effect{0, 0, 3, true}},
		{0xaa, 0xab, 1, effect{0, 0, 1, false}}, // switches, and more
		{0xb1, 0xb1, 1, effect{0, 0, 1, false}},
		{0xb2, 0xb8, 1, effect{0, 0, 3, false}}, // fields and methods
		{0xb9, 0xba, 1, effect{0, 0, 5, false}},
		{0xbb, 0xbb, 1, effect{0, 1, 3, false}}, // objects and arrays
		{0xbc, 0xbc, 1, effect{1, 1, 2, false}},
		{0xbd, 0xbd, 1, effect{1, 1, 3, false}},
		{0xbe, 0xbe, 1, effect{1, 1, 1, false}},
		{0xbf, 0xbf, 1, effect{0, 0, 1, false}},
		{0xc0, 0xc0, 1, effect{0, 0, 3, false}},
		{0xc1, 0xc1, 1, effect{1, 1, 3, false}},
		{0xc2, 0xc3, 1, effect{1, 0, 1, false}}, // monitors
		{0xc5, 0xc5, 1, effect{0, 0, 4, false}},
		{0xc6, 0xc7, 1, effect{1, 0, 3, true}},
	} {
		for op := row.first; op <= row.last; op += row.step {
			all[op] = row.effect
		}
	}
	return all
}()
