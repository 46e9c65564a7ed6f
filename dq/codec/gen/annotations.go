package gen

import "github.com/dq-bench/dq-bench/dq/codec"

// annotations says of a class that it has annotations of Jackson, or an enum that a field can hold, or nothing. JSON takes
// no codec.Class, which could tell it of the enum.
func (w *writer) annotations(c codec.JavaClass) string {
	if c.Annotated {
		return "the class, or one above it, has annotations of Jackson"
	}
	for _, f := range c.Fields {
		if enum := w.annotatedEnum(f.Type); enum != "" {
			return "its field " + f.Name + " can hold the enum " + enum + ", which has annotations of Jackson"
		}
	}
	for _, argument := range c.SuperOf {
		if enum := w.annotatedEnum(argument); enum != "" {
			return "its super class can hold the enum " + enum + ", which has annotations of Jackson"
		}
	}
	return ""
}

// annotatedEnum returns the enum with annotations that a type names, or "".
func (w *writer) annotatedEnum(t codec.JavaType) string {
	if c := w.classes[t.Class]; c.Annotated && len(c.Constants) > 0 {
		return t.Class
	}
	for _, of := range t.Of {
		if enum := w.annotatedEnum(of); enum != "" {
			return enum
		}
	}
	return ""
}
