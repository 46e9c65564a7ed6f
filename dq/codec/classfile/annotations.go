package classfile

import "strings"

// isAnnotation reports whether a text of a class file is the type of an annotation that Jackson goes by.
func isAnnotation(text string) bool {
	if text == "Ljava/beans/Transient;" {
		return true
	}
	isJackson := strings.HasPrefix(text, "Lcom/fasterxml/jackson/") || strings.HasPrefix(text, "Ltools/jackson/")
	return isJackson && strings.Contains(text, "/annotation/")
}

// isAnnotated reports whether a class, a super class or an interface names annotations of Jackson, which go by all of
// them, or annotation types that have such, as with @JacksonAnnotationsInside. Those that were seen are left out.
func (c *class) isAnnotated(find func(name string) (*class, error), seen map[string]bool) bool {
	for _, text := range c.pool.texts {
		if isAnnotation(text) {
			return true
		}
	}
	isOf := func(name string, needed uint16) bool {
		if name == "" || seen[name] {
			return false
		}
		of, err := find(name)
		if err != nil || of.access&needed != needed {
			return false
		}
		seen[name] = true
		return of.isAnnotated(find, seen)
	}
	for _, text := range c.pool.texts {
		if inner, is := strings.CutPrefix(text, "L"); is && strings.HasSuffix(inner, ";") &&
			isOf(strings.ReplaceAll(strings.TrimSuffix(inner, ";"), "/", "."), accAnnotation) {
			return true
		}
	}
	for _, name := range append([]string{c.super}, c.interfaces...) {
		if isOf(name, 0) {
			return true
		}
	}
	return false
}
