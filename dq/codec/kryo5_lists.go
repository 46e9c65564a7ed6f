package codec

// list reads a collection or an array. Where a field declares the class of the
// elements, and it is final, the bytes do not name it.
func (r *kryoReader) list(t kryoType, j *javaType) any {
	var all []any
	switch {
	case t.elem != nil:
		n := int(int32(r.varint()))
		if n == 0 {
			return nil
		}
		all = r.elements(n-1, func() any { return r.inArray(t.elem) })
	case t.form == formEmpty:
		r.spend(1)
		all = []any{}
	case t.form == formSingleton:
		all = []any{r.classAndObject()}
	default:
		if all = r.collection(t.form, elementsOf(j, kindList).known(r.bound)); all == nil {
			return nil
		}
	}
	if t.list == "" {
		return all
	}
	return &elements{class: t.list, all: all}
}

// elementsOf returns what j declares for the elements of a list or map, or nil.
func elementsOf(j *javaType, k kind) *javaType {
	if j == nil || j.kind != k {
		return nil
	}
	return j.elem
}

func (r *kryoReader) collection(form listForm, elem *javaType) []any {
	declared := elem != nil && elem.isFinal()
	var flag bool // that there are nulls, or that all are of one class
	var n int
	if declared && form == formNoNulls {
		n = int(int32(r.varint()))
	} else {
		flag, n = r.flagged()
	}
	if n == 0 {
		return nil
	}
	n--
	if form == formSorted && r.byte() != kryoNull {
		r.fail("a sorted collection with a comparator, which is not read")
	}
	if n == 0 {
		return []any{}
	}
	switch {
	case declared:
		return r.same(n, declaredType(elem), flag, elem.arguments())
	case !flag:
		return r.elements(n, func() any { return r.classAndObjectOf(elem) })
	}
	t := r.class()
	if t.null {
		return r.nulls(n)
	}
	hasNull := form != formNoNulls && r.flag()
	return r.same(n, t, hasNull, elem)
}

// same reads n values of one class.
func (r *kryoReader) same(n int, t kryoType, hasNull bool, j *javaType) []any {
	return r.elements(n, func() any {
		if hasNull {
			return r.orNull(t, j)
		}
		return r.object(t, j)
	})
}

// nulls reads a list of nothing but null, which takes no bytes.
func (r *kryoReader) nulls(n int) []any {
	r.spend(min(n, maxShared+1))
	if r.err != nil {
		return []any{}
	}
	return make([]any, n)
}

func (r *kryoReader) mapping(t kryoType, j *javaType) any {
	d := &dictionary{class: t.dictionary}
	switch t.form {
	case formEmpty:
		r.spend(1)
		return d
	case formSingleton:
		d.add(r.classAndObject(), r.classAndObject())
		return d
	}
	n := int(int32(r.varint()))
	if n == 0 {
		return nil
	}
	if t.form == formSorted && r.byte() != kryoNull {
		r.fail("a sorted map with a comparator, which is not read")
	}
	var key, elem *javaType
	if j != nil && j.kind == kindMap {
		key, elem = j.key, j.elem.known(r.bound)
	}
	for i := r.count(n - 1); i > 0 && r.err == nil; i-- {
		d.add(r.part(key, t.form), r.part(elem, t.form))
	}
	return d
}

// part reads a key or a value of a map, which is declared as j, or nil for nothing.
func (r *kryoReader) part(j *javaType, form listForm) any {
	switch {
	case j == nil || !j.isFinal():
		return r.classAndObjectOf(j)
	case form == formNoNulls:
		return r.object(declaredType(j), j.arguments())
	}
	return r.orNull(declaredType(j), j.arguments())
}
