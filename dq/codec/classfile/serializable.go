package classfile

// unserializable are the classes and interfaces of the JDK that many extend and that are not java.io.Serializable.
var unserializable = map[string]bool{
	"java.lang.Object": true, "java.lang.Record": true, "java.lang.Comparable": true, "java.lang.Cloneable": true, "java.lang.Iterable": true,
	"java.lang.Runnable": true, "java.lang.AutoCloseable": true, "java.io.Closeable": true,
}

// serializable reports whether a class is java.io.Serializable, and whether it is not for certain, as far as find has
// what it extends and implements.
func (c *class) serializable(find func(name string) (*class, error), depth int) (is, not bool) {
	if depth > maxNested {
		return false, false // it extends itself
	}
	not = true
	for _, name := range append([]string{c.super}, c.interfaces...) {
		if name == "java.io.Serializable" || name == "java.io.Externalizable" || name == "java.lang.Enum" {
			return true, false
		}
		if name == "" || unserializable[name] {
			continue
		}
		above, err := find(name)
		if err != nil {
			not = false
			continue
		}
		aboveIs, aboveNot := above.serializable(find, depth+1)
		if aboveIs {
			return true, false
		}
		not = not && aboveNot
	}
	return false, not
}
