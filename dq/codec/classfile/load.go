package classfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// Load returns the classes of these names, and those that they extend and that their fields
// refer to, as far as the jar or folder has them: classes, enums and interfaces. It fails where
// one of the names is not there, or is that of an interface or of a collection.
func Load(path string, names ...string) ([]codec.JavaClass, error) {
	files, err := open(path)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	l := loader{files: files, seen: map[string]bool{}}
	for _, name := range names {
		if err := l.load(name); err != nil {
			return nil, fmt.Errorf("%s: class %s: %w", path, name, err)
		}
		if l.isInterface(name) {
			return nil, fmt.Errorf("%s: %s is an interface, for which no Go type stands", path, name)
		}
		if slices.ContainsFunc(l.found, func(c codec.JavaClass) bool { return c.Name == name && c.Collection }) {
			return nil, fmt.Errorf("%s: %s is a java.util.Collection or Map, for which no Go type stands", path, name)
		}
	}
	for i := range l.found {
		if super := l.found[i].Super; !l.has(super) {
			l.found[i].Super = "" // of the JDK, or of another jar
		}
	}
	slices.SortFunc(l.found, func(a, b codec.JavaClass) int { return strings.Compare(a.Name, b.Name) })
	return l.found, nil
}

type closingFS interface {
	fs.FS
	io.Closer
}

type folder struct{ fs.FS }

func (folder) Close() error { return nil }

func open(path string) (closingFS, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		return folder{os.DirFS(path)}, nil
	}
	jar, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: expected a jar or a folder of class files: %w", path, err)
	}
	return jar, nil
}

// roots are where a jar has its classes: at the top, or as Spring Boot and web
// applications do.
var roots = []string{"", "BOOT-INF/classes/", "WEB-INF/classes/"}

// maxClassFile bounds what is read of one: larger ones cannot be run by a JVM, whose
// constant pool has 65,535 entries, mostly short.
const maxClassFile = 16 << 20

type loader struct {
	files fs.FS
	seen  map[string]bool
	found []codec.JavaClass
}

func (l *loader) has(name string) bool {
	return slices.ContainsFunc(l.found, func(c codec.JavaClass) bool { return c.Name == name })
}

func (l *loader) isInterface(name string) bool {
	return slices.ContainsFunc(l.found, func(c codec.JavaClass) bool { return c.Name == name && c.Interface })
}

// read returns the class file of a name; fs.ErrNotExist where there is none.
func (l *loader) read(name string) (*class, error) {
	for _, root := range roots {
		file, err := l.files.Open(root + strings.ReplaceAll(name, ".", "/") + ".class")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			continue
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(file, maxClassFile))
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		return parse(data)
	}
	return nil, fs.ErrNotExist
}

// load adds a class, and those that it refers to.
func (l *loader) load(name string) error {
	if l.seen[name] {
		return nil
	}
	l.seen[name] = true
	c, err := l.read(name)
	if err != nil {
		return err
	}
	described := c.describe()
	described.Flags, described.Collection = c.flags(l.read), c.isCollection(l.read, 0)
	described.Serializable, described.NotSerializable = c.serializable(l.read, 0)
	described.Defaults, described.Opaque = c.constructed(l.read)
	described.Jackson3, described.Annotated = c.beans(l.read), c.isAnnotated(l.read, map[string]bool{})
	if described.Interface {
		l.found = append(l.found, described)
		return nil
	}
	refers := []string{c.super}
	for _, of := range described.SuperOf {
		refers = append(refers, classesIn(of)...)
	}
	for _, f := range described.Fields {
		refers = append(refers, classesIn(f.Type)...)
	}
	if c.isEnum() {
		refers = nil
	}
	for _, other := range refers {
		if err := l.load(other); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("class %s: %w", other, err)
		}
	}
	l.found = append(l.found, described)
	return nil
}

func classesIn(t codec.JavaType) []string {
	names := []string{t.Class}
	for _, of := range t.Of {
		names = append(names, classesIn(of)...)
	}
	return names
}

func (c *class) isRecord() bool { return c.super == "java.lang.Record" }
func (c *class) isEnum() bool   { return c.access&accEnum != 0 }

// describe returns what a codec needs to know of the class.
func (c *class) describe() codec.JavaClass {
	java := codec.JavaClass{
		Name: c.name, SerialVersionUID: c.serialVersionUID(), Record: c.isRecord(), Final: c.access&accFinal != 0, Abstract: c.access&accAbstract != 0,
	}
	java.HasBodies = c.isEnum() && !java.Final
	if !c.isRecord() && c.super != "java.lang.Object" {
		java.Super = c.super
	}
	java.SuperOf = superOf(c.signature)
	for _, f := range c.fields {
		if f.access&accSynthetic != 0 && f.access&(accStatic|accTransient) == 0 {
			java.Hidden = append(java.Hidden, f.name)
		}
		switch {
		case f.access&accEnum != 0:
			java.Constants = append(java.Constants, f.name)
		case c.isEnum() || f.access&(accStatic|accTransient) != 0:
		case f.signature != "":
			t := typeOf(f.signature)
			if t.Parameter != "" {
				t.Class = typeOf(f.descriptor).Class // which is what it is erased to
			}
			java.Fields = append(java.Fields, codec.JavaField{Name: f.name, Type: t})
		default:
			java.Fields = append(java.Fields, codec.JavaField{Name: f.name, Type: typeOf(f.descriptor)})
		}
	}
	java.OwnData = slices.ContainsFunc(c.methods, func(m member) bool {
		return m.name == "writeObject" && m.descriptor == "(Ljava/io/ObjectOutputStream;)V" && m.access&accPrivate != 0
	})
	java.Interface, java.Parameters, java.Custom = c.access&accInterface != 0, c.parameters, c.custom()
	java.NoDefault = !c.hasDefault()
	java.OfText = c.isOfText()
	slices.SortFunc(java.Fields, func(a, b codec.JavaField) int { return strings.Compare(a.Name, b.Name) })
	return java
}

// hasDefault reports whether it has a constructor without parameters.
func (c *class) hasDefault() bool {
	return slices.ContainsFunc(c.methods, func(m member) bool { return m.name == initName && m.descriptor == "()V" })
}

// isOfText reports whether a constructor, or a method that Jackson knows by its name, makes an object of one String.
func (c *class) isOfText() bool {
	made := "(Ljava/lang/String;)L" + strings.ReplaceAll(c.name, ".", "/") + ";"
	return slices.ContainsFunc(c.methods, func(m member) bool {
		isFactory := (m.name == "valueOf" || m.name == "fromString") && m.access&accStatic != 0 && m.access&accPublic != 0
		return m.name == initName && m.descriptor == "(Ljava/lang/String;)V" || isFactory && m.descriptor == made
	})
}

// hooks are the methods by which a class has its own say in what is written of its objects.
var hooks = []string{
	"writeObject(Ljava/io/ObjectOutputStream;)V", "readObject(Ljava/io/ObjectInputStream;)V", "readObjectNoData()V",
	"writeReplace()Ljava/lang/Object;", "readResolve()Ljava/lang/Object;",
	"writeExternal(Ljava/io/ObjectOutput;)V", "readExternal(Ljava/io/ObjectInput;)V",
	"write(Lcom/esotericsoftware/kryo/Kryo;Lcom/esotericsoftware/kryo/io/Output;)V",
}

// custom returns by what the class has its own say in what is written of its objects.
func (c *class) custom() []string {
	var found []string
	for _, m := range c.methods {
		if slices.Contains(hooks, m.name+m.descriptor) {
			found = append(found, m.name)
		}
	}
	for _, f := range c.fields {
		if f.name == "serialPersistentFields" {
			found = append(found, f.name)
		}
	}
	for _, library := range c.annotated {
		found = append(found, "annotations of "+library)
	}
	return found
}
