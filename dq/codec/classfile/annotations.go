package classfile

import "strings"

// isAnnotation reports whether a text of a class file is the type of an annotation of Jackson.
func isAnnotation(text string) bool {
	isJackson := strings.HasPrefix(text, "Lcom/fasterxml/jackson/") || strings.HasPrefix(text, "Ltools/jackson/")
	return isJackson && strings.Contains(text, "/annotation/")
}

// isAnnotated reports whether a class, a super class or an interface names annotations of Jackson, which go by all of
// them. Those that were seen are left out.
func (c *class) isAnnotated(find func(name string) (*class, error), seen map[string]bool) bool {
	for _, text := range c.pool.texts {
		if isAnnotation(text) {
			return true
		}
	}
	for _, name := range append([]string{c.super}, c.interfaces...) {
		if seen[name] {
			continue
		}
		seen[name] = true
		if above, err := find(name); err == nil && above.isAnnotated(find, seen) {
			return true
		}
	}
	return false
}
