package gen

import (
	"bytes"
	"fmt"
	"go/format"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// Source returns Go source of a package with a struct for each class, a string type for
// each enum, and the variable Classes, which the constructor of a codec takes. A field
// that has no Go type is left out, and a comment and the option lacks say so; of what has annotations of Jackson a comment
// and the option json=no, or NoJSON of its Class, do; of what is not java.io.Serializable the option serializable=no does. A reference is
// a pointer, for null, in collections too; but the key of a map, where null is refused. A struct that holds collections or an Optional, which may be null, has an Origin, so that
// what was read is written as it was.
func Source(pkg string, classes []codec.JavaClass) ([]byte, error) {
	if !token.IsIdentifier(pkg) {
		return nil, fmt.Errorf("gen: %q is no name of a Go package", pkg)
	}
	classes = withEnums(classes)
	w := writer{names: map[string]string{}, classes: map[string]codec.JavaClass{}, extended: map[string]bool{}}
	for _, c := range classes {
		w.classes[c.Name] = c
		w.extended[c.Super] = true
		w.extended[c.Name] = w.extended[c.Name] || c.Abstract || c.HasBodies || c.Interface
	}
	classes = slices.DeleteFunc(slices.Clone(classes), func(c codec.JavaClass) bool { return c.Interface || c.Collection || w.classes[c.Super].HasBodies })
	w.nameAll(classes)
	for _, c := range classes {
		if len(c.Constants) > 0 {
			w.enum(c)
		} else {
			w.structure(c)
		}
	}
	w.list(classes)
	var source bytes.Buffer
	fmt.Fprintf(&source, "package %s\n\nimport (\n", pkg)
	for _, path := range []string{"math/big", "time", "github.com/dq-bench/dq-bench/dq/codec"} {
		if name := path[strings.LastIndexByte(path, '/')+1:]; name == "codec" || strings.Contains(w.types.String(), name+".") {
			fmt.Fprintf(&source, "%q\n", path)
		}
	}
	source.WriteString(")\n")
	source.WriteString(w.String())
	formatted, err := format.Source(source.Bytes())
	if err != nil {
		return nil, fmt.Errorf("gen: the classes make no Go source: %w", err)
	}
	return formatted, nil
}

type writer struct {
	strings.Builder
	types    strings.Builder   // the Go types of fields, which tell what is imported
	names    map[string]string // of Go types, by class
	classes  map[string]codec.JavaClass
	extended map[string]bool // classes that have subclasses among these
	// parameters has the Go names of the type parameters of the class that is written.
	parameters map[string]string
}

// nameParameters names the type parameters of a class, and returns their declaration.
func (w *writer) nameParameters(c codec.JavaClass) string {
	w.parameters = map[string]string{}
	if len(c.Parameters) == 0 {
		return ""
	}
	all := make([]string, len(c.Parameters))
	for i, name := range c.Parameters {
		all[i] = "T"
		if i > 0 {
			all[i] += strconv.Itoa(i + 1)
		}
		for slices.Contains(slices.Collect(maps.Values(w.names)), all[i]) {
			all[i] += "_"
		}
		w.parameters[name] = all[i]
	}
	return "[" + strings.Join(all, ", ") + " any]"
}

// nameAll gives each class a name of its own: its simple one, or with what is before it.
func (w *writer) nameAll(classes []codec.JavaClass) {
	taken := map[string]bool{"Classes": true}
	for _, c := range classes {
		parts := strings.FieldsFunc(c.Name, func(r rune) bool { return r == '.' || r == '$' })
		name := ""
		for i := len(parts) - 1; i >= 0 && (name == "" || taken[name]); i-- {
			name = exported(parts[i]) + name
		}
		for n := 2; taken[name] || name == ""; n++ {
			name = exported(c.Name) + strconv.Itoa(n)
		}
		taken[name] = true
		w.names[c.Name] = name
	}
}

// exported returns a Java name as an exported one of Go: "id" as ID, "orderId" as OrderID.
func exported(name string) string {
	if name == "id" || strings.HasSuffix(name, "Id") {
		name = name[:len(name)-2] + "ID"
	}
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			return r
		}
		return -1
	}, name)
	if first := []rune(letters); len(first) > 0 && unicode.IsLower(first[0]) {
		return string(unicode.ToUpper(first[0])) + string(first[1:])
	}
	if letters == "" || !unicode.IsUpper([]rune(letters)[0]) {
		return "X" + letters
	}
	return letters
}

func (w *writer) enum(c codec.JavaClass) {
	name := w.names[c.Name]
	fmt.Fprintf(w, "\n// %s is the enum %s.\n", name, oneLine(c.Name))
	if c.Annotated {
		w.WriteString("// No codec of JSON writes or reads it: it has annotations of Jackson, by which its constants may have other names.\n")
	}
	fmt.Fprintf(w, "type %s string\n\nconst (\n", name)
	seen := map[string]bool{}
	for _, constant := range c.Constants {
		id := name + exported(strings.ToLower(constant))
		for seen[id] {
			id += "_"
		}
		seen[id] = true
		fmt.Fprintf(w, "%s %s = %q\n", id, name, constant)
	}
	w.WriteString(")\n")
}

func (w *writer) structure(c codec.JavaClass) {
	name := w.names[c.Name]
	fmt.Fprintf(w, "\n// %s is the class %s.\n", name, oneLine(c.Name))
	if c.OwnData {
		fmt.Fprintf(w, "// Its writeObject method writes data of its own, which no struct holds: it is not read.\n")
	}
	annotations := w.annotations(c)
	if annotations != "" {
		fmt.Fprintf(w, "// No codec of JSON writes or reads it: %s, by which its JSON may be another than that of its fields.\n", oneLine(annotations))
	}
	tag := fmt.Sprintf("%s,serialVersionUID=%d", c.Name, c.SerialVersionUID)
	switch {
	case c.Record:
		tag += ",record"
	case c.Final:
		tag += ",final"
	}
	parameters := w.nameParameters(c)
	if annotations != "" {
		tag += ",json=no"
	}
	if len(c.Jackson3) > 0 {
		tag += ",jackson3=no"
	}
	if c.NotSerializable {
		tag += ",serializable=no"
	}
	for _, f := range c.Flags {
		if f.Field != f.Property {
			tag += strings.TrimSuffix(fmt.Sprintf(",is=%s:%s", f.Property, f.Field), ":")
		}
	}
	for _, f := range c.Fields {
		if t, _ := w.fieldOf(c, f); t == "" {
			tag += ",lacks=" + strings.ReplaceAll(f.Name, ",", "_")
		}
	}
	fmt.Fprintf(w, "type %s%s struct {\n_ struct{} %s\n", name, parameters, quoteTag("java", tag))
	if _, has := w.names[c.Super]; has {
		super := w.typeName(codec.JavaType{Class: c.Super, Of: c.SuperOf})
		fmt.Fprintf(w, "%s%s\n", super, superTag(c))
		w.types.WriteString(super + "\n")
	}
	taken, needsOrigin := map[string]bool{"_": true, w.names[c.Super]: true}, false
	for _, f := range c.Fields {
		t, tag := w.fieldOf(c, f)
		if t == "" {
			fmt.Fprintf(w, "// %s is left out: %s\n", oneLine(f.Name), oneLine(tag))
			continue
		}
		id := exported(f.Name)
		for taken[id] {
			id += "_"
		}
		taken[id] = true
		tags := quoteTag("json", f.Name)
		if tag != "" {
			tags = strings.TrimSuffix(tags, "`") + " " + strings.TrimPrefix(quoteTag("java", tag), "`")
		}
		fmt.Fprintf(w, "%s %s %s\n", id, t, tags)
		w.types.WriteString(t + "\n")
		needsOrigin = needsOrigin || tag == "Optional" || t == "any" || t == w.parameters[f.Type.Parameter] || strings.HasPrefix(t, "map[") || strings.HasPrefix(t, "[]") && t != "[]byte"
	}
	if needsOrigin {
		id := "Origin"
		for taken[id] {
			id += "_"
		}
		fmt.Fprintf(w, "%s codec.Origin %s\n", id, quoteTag("json", "-"))
	}
	w.WriteString("}\n")
}

// quoteTag returns a tag with its back quotes. A name that Go's tags cannot hold comes
// out quoted, so that the source says what is wrong with it.
func quoteTag(key, value string) string {
	return "`" + key + ":" + strings.ReplaceAll(strconv.Quote(value), "`", `\x60`) + "`"
}

func oneLine(text string) string { return strings.Trim(strconv.Quote(text), `"`) }

func (w *writer) list(classes []codec.JavaClass) {
	w.WriteString("\n// Classes are what the constructor of a codec takes besides the type of its values.\nvar Classes = []codec.Class{\n")
	for _, c := range classes {
		name := w.names[c.Name]
		if len(c.Constants) == 0 {
			fmt.Fprintf(w, "{Of: %s{}},\n", w.typeName(codec.JavaType{Class: c.Name}))
			continue
		}
		constants := slices.Clone(c.Constants)
		for i, constant := range constants {
			constants[i] = strconv.Quote(constant)
		}
		option := ""
		if c.Annotated {
			option = ", NoJSON: true"
		}
		if len(c.Jackson3) > 0 {
			option += ", NoJackson3: true"
		}
		fmt.Fprintf(w, "{Of: %s(\"\"), Name: %q, Constants: []string{%s}%s},\n", name, c.Name, strings.Join(constants, ", "), option)
	}
	w.WriteString("}\n")
}

// superTag is the tag of the struct of the super class: that its type argument is the type parameter of the class.
func superTag(c codec.JavaClass) string {
	if len(c.SuperOf) == 0 || !slices.Contains(c.Parameters, c.SuperOf[0].Parameter) {
		return ""
	}
	return " " + quoteTag("java", "T")
}
