package classfile

import (
	"encoding/binary"
	"slices"
)

// held is what a variable or a place of the stack holds, as far as it matters for what becomes of the object that a
// constructor makes.
type held byte

const (
	other  held = iota // anything but the object
	null               // for certain
	self               // the object for certain
	either             // the object, or anything else
)

// frame is what the variables and the stack hold before an instruction.
type frame struct{ variables, stack []held }

func (f frame) clone() frame { return frame{slices.Clone(f.variables), slices.Clone(f.stack)} }

// walk follows the code of a constructor on all of its ways.
type walk struct {
	*making

	code   *code
	of     *class
	states map[int]*frame
	open   []int // where the state has changed
}

// join says that the instruction at an offset may come next.
func (w *walk) join(at int, f frame) {
	if w.budget -= len(f.variables) + len(f.stack) + 1; w.budget < 0 || at < 0 || at >= len(w.code.bytes) {
		w.opaque = true
		return
	}
	before := w.states[at]
	if before == nil {
		f = f.clone()
		w.states[at] = &f
		w.open = append(w.open, at)
		return
	}
	if len(before.stack) != len(f.stack) {
		w.opaque = true
		return
	}
	changed := merge(before.variables, f.variables)
	if merge(before.stack, f.stack) || changed {
		w.open = append(w.open, at)
	}
}

// merge makes all hold what they or others may hold.
func merge(all, others []held) (changed bool) {
	for i, v := range all {
		switch {
		case v == others[i] || v == either || v == other && others[i] == null:
			continue
		case v == self || others[i] == self || others[i] == either:
			all[i] = either
		default:
			all[i] = other
		}
		changed = true
	}
	return changed
}

// pop takes n places from the stack.
func (w *walk) pop(f *frame, n int) []held {
	if n > len(f.stack) {
		w.opaque = true
		return make([]held, n)
	}
	taken := f.stack[len(f.stack)-n:]
	f.stack = f.stack[:len(f.stack)-n]
	return slices.Clone(taken)
}

// use takes n places from the stack, which are used for what the object must not be used for.
func (w *walk) use(f *frame, n int) []held {
	taken := w.pop(f, n)
	if slices.Contains(taken, self) || slices.Contains(taken, either) {
		w.opaque = true
	}
	return taken
}

func (f *frame) push(n int) { f.stack = append(f.stack, make([]held, n)...) }

// step follows one instruction.
func (w *walk) step(at int, f frame) {
	w.budget -= len(w.code.handlers)
	for _, h := range w.code.handlers {
		if h.from <= at && at < h.to {
			w.join(h.target, frame{f.variables, []held{other}})
		}
	}
	op := w.code.bytes[at]
	does := effects[op]
	if does.length == 0 || at+int(does.length) > len(w.code.bytes) {
		w.opaque = true // of an instruction that no constructor of javac has, too
		return
	}
	operand := w.code.bytes[at+1 : at+int(does.length)]
	switch {
	case op == opReturn:
		return
	case op == opThrow:
		w.use(&f, 1)
		return
	case op == opTableSwitch || op == opLookupSwitch:
		w.use(&f, 1)
		w.choose(at, f)
		return
	case does.branches:
		w.use(&f, int(does.pops))
		w.join(at+int(int16(binary.BigEndian.Uint16(operand))), f)
		if op == opGoto {
			return
		}
	case op >= opGetStatic && op <= opInvokeDynamic:
		w.refer(op, binary.BigEndian.Uint16(operand), &f)
	case !w.move(op, operand, &f):
		w.use(&f, int(does.pops))
		f.push(int(does.pushes))
	}
	if !w.opaque {
		w.join(at+int(does.length), f)
	}
}

// move follows an instruction that hands on what it finds; it reports false for any other.
func (w *walk) move(op byte, operand []byte, f *frame) bool {
	switch {
	case op == opNull:
		f.stack = append(f.stack, null)
	case op == opLoad:
		w.load(f, int(operand[0]))
	case op >= opLoad0 && op < opLoad0+4:
		w.load(f, int(op-opLoad0))
	case op >= opStoreInt && op <= opStore:
		w.store(f, op-opStoreInt, int(operand[0]))
	case op > opStore && op < opStore+1+5*4:
		w.store(f, (op-opStore-1)/4, int(op-opStore-1)%4)
	case op == opPop || op == opPop2:
		w.pop(f, int(op-opPop)+1)
	case op == opCast:
	case op == opSwap:
		top := w.pop(f, 2)
		f.stack = append(f.stack, top[1], top[0])
	case op >= opDup && op < opSwap: // three for one place, then three for two
		width, below := int(op-opDup)/3+1, int(op-opDup)%3
		top := w.pop(f, width+below)
		f.stack = append(append(f.stack, top[below:]...), top...)
	case op == opMultiArray:
		w.use(f, int(operand[2]))
		f.push(1)
	default:
		return false
	}
	return true
}

func (w *walk) load(f *frame, variable int) {
	if variable >= len(f.variables) {
		w.opaque = true
		return
	}
	f.stack = append(f.stack, f.variables[variable])
}

// store follows a store of an int, long, float, double or reference, in this order.
func (w *walk) store(f *frame, of byte, variable int) {
	n := 1
	if of == 1 || of == 3 {
		n = 2
	}
	if variable+n > len(f.variables) {
		w.opaque = true
		return
	}
	copy(f.variables[variable:], w.pop(f, n))
}

// refer follows an instruction for a field or a method.
func (w *walk) refer(op byte, index uint16, f *frame) {
	to := w.of.pool.reference(index)
	switch op {
	case opGetStatic:
		f.push(width(to.descriptor))
	case opPutStatic:
		w.use(f, width(to.descriptor))
	case opGetField:
		w.isOwn(f)
		f.push(width(to.descriptor))
	case opPutField:
		value := w.use(f, width(to.descriptor))
		if w.isOwn(f) && !slices.Equal(value, []held{null}) {
			w.defaults = append(w.defaults, to.name)
		}
	default:
		w.call(op, to, f)
	}
}

// isOwn takes the object of a field from the stack and reports whether it is the one that is made.
func (w *walk) isOwn(f *frame) bool {
	of := w.pop(f, 1)[0]
	w.opaque = w.opaque || of == either
	return of == self
}

func (w *walk) call(op byte, to reference, f *frame) {
	parameters, result, ok := places(to.descriptor)
	if !ok {
		w.opaque = true
		return
	}
	given := w.use(f, parameters)
	if op != opInvokeStatic && op != opInvokeDynamic {
		switch of := w.pop(f, 1)[0]; {
		case of == self && op == opInvokeSpecial && !w.opaque:
			w.constructs(w.of, to, given)
		case of == self || of == either:
			w.opaque = true
		}
	}
	f.push(result)
}

// choose follows a switch to all of its cases.
func (w *walk) choose(at int, f frame) {
	code := w.code.bytes
	word := func(i int) int64 {
		if i = at + 4 - at%4 + 4*i; i+4 > len(code) {
			w.opaque = true
			return 0
		}
		return int64(int32(binary.BigEndian.Uint32(code[i:])))
	}
	w.join(at+int(word(0)), f)
	first, step, n := 2, 2, word(1) // of pairs of a number and an offset
	if code[at] == opTableSwitch {
		first, step, n = 3, 1, word(2)-word(1)+1
	}
	for i := int64(0); i < n && !w.opaque; i++ {
		w.join(at+int(word(first+step*int(i)+step-1)), f)
	}
}
