package classfile

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// Library finds classes in several jars and folders of class files. It is for one goroutine.
type Library struct {
	files []closingFS
	found map[string]*class
}

// Open opens jars and folders; a class is taken from the first that has it.
func Open(paths ...string) (*Library, error) {
	l := &Library{found: map[string]*class{}}
	for _, path := range paths {
		files, err := open(path)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.files = append(l.files, files)
	}
	return l, nil
}

// Close closes the jars.
func (l *Library) Close() error {
	var err error
	for _, files := range l.files {
		err = errors.Join(err, files.Close())
	}
	return err
}

// Class returns a class, an enum or an interface. It fails with fs.ErrNotExist where none of the jars has
// it, and for a broken class file.
func (l *Library) Class(name string) (codec.JavaClass, error) {
	c, err := l.read(name)
	if err != nil {
		return codec.JavaClass{}, err
	}
	java := c.describe()
	java.Serializable, java.NotSerializable = c.serializable(l.read, 0)
	java.Flags, java.Collection = c.flags(l.read), c.isCollection(l.read, 0)
	java.Defaults, java.Opaque = c.constructed(l.read)
	java.Jackson3, java.Annotated = c.beans(l.read), c.isAnnotated(l.read, map[string]bool{})
	if java.Annotated && len(c.annotated) == 0 {
		java.Custom = append(java.Custom, "annotations of Jackson on what it extends, implements or is annotated with")
	}
	return java, nil
}

func (l *Library) read(name string) (*class, error) {
	if c, known := l.found[name]; known {
		return c, nil
	}
	for _, files := range l.files {
		in := loader{files: files}
		c, err := in.read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", name, err)
		}
		l.found[name] = c
		return c, nil
	}
	return nil, fs.ErrNotExist
}
