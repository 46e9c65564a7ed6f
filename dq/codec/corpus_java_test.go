package codec_test

import (
	"fmt"
	"strings"
)

// source returns the class as Java source.
func (c *corpusClass) source() string {
	var b strings.Builder
	fmt.Fprintf(&b, "package acme;\n\npublic %s {\n", c.heading())
	if c.kind == corpusEnum {
		fmt.Fprintf(&b, "    %s\n}\n", strings.Join(c.constants, ", "))
		return b.String()
	}
	if c.uid != 0 {
		fmt.Fprintf(&b, "    private static final long serialVersionUID = %dL;\n", c.uid)
	}
	if c.kind != corpusRecord {
		for _, f := range c.fields {
			fmt.Fprintf(&b, "    private %s;\n", f.declaration())
		}
	}
	b.WriteString("}\n")
	return b.String()
}

func (c *corpusClass) heading() string {
	interfaces := "java.io.Serializable"
	if c.implements != nil {
		interfaces += ", acme." + c.implements.name
	}
	switch c.kind {
	case corpusEnum:
		return "enum " + c.name
	case corpusInterface:
		return "interface " + c.name
	case corpusRecord:
		parts := make([]string, len(c.fields))
		for i, f := range c.fields {
			parts[i] = f.declaration()
		}
		return fmt.Sprintf("record %s(%s) implements %s", c.name, strings.Join(parts, ", "), interfaces)
	case corpusGeneric:
		return fmt.Sprintf("class %s<T> implements %s", c.name, interfaces)
	}
	modifier, extends := "", ""
	if c.final {
		modifier = "final "
	}
	if c.super != nil {
		extends = " extends acme." + c.super.name
	}
	return fmt.Sprintf("%sclass %s%s implements %s", modifier, c.name, extends, interfaces)
}

func (f corpusField) declaration() string {
	var words []string
	if f.always {
		words = append(words, "@corpus.Always")
	}
	if f.leftOut {
		words = append(words, "@corpus.LeftOut")
	}
	if f.transient {
		words = append(words, "transient")
	}
	return strings.Join(append(words, f.java, f.name), " ")
}
