package classfile

import (
	"slices"
	"strings"
)

// collections are how the names of the JDK's classes and interfaces end that are a java.util.Collection or Map.
var collections = []string{"Collection", "List", "Set", "Queue", "Deque", "Map", "Vector", "Stack", "Hashtable", "Properties"}

// isCollection reports whether a class or interface is a java.util.Collection or Map, as far as find has what it
// extends and implements.
func (c *class) isCollection(find func(name string) (*class, error), depth int) bool {
	if depth > maxNested {
		return false // it extends itself
	}
	for _, name := range append([]string{c.super}, c.interfaces...) {
		ends := func(end string) bool { return strings.HasSuffix(name, end) }
		if strings.HasPrefix(name, "java.util.") && slices.ContainsFunc(collections, ends) {
			return true
		}
		if above, err := find(name); err == nil && above.isCollection(find, depth+1) {
			return true
		}
	}
	return false
}
