package classfile

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSerializable(t *testing.T) {
	classes := map[string]*class{}
	for name, above := range map[string][]string{
		"Plain":   {"java.lang.Object"},
		"Sorted":  {"java.lang.Object", "java.lang.Comparable"},
		"Marked":  {"Plain", "java.io.Serializable"},
		"Kid":     {"Marked"},
		"Written": {"Plain", "java.io.Externalizable"},
		"Foreign": {"lib.Base"},
		"Number":  {"java.lang.Number"},
		"Below":   {"Sorted", "Shape"},
		"Shape":   {"java.lang.Object"},
		"Loop":    {"Loop"},
	} {
		classes[name] = &class{name: name, super: above[0], interfaces: above[1:]}
	}
	find := func(name string) (*class, error) {
		if c := classes[name]; c != nil {
			return c, nil
		}
		return nil, fs.ErrNotExist
	}
	is, not := map[string]bool{"Marked": true, "Kid": true, "Written": true}, map[string]bool{"Plain": true, "Sorted": true, "Below": true, "Shape": true}
	for name, c := range classes {
		isOne, isNone := c.serializable(find, 0)
		require.Equal(t, is[name], isOne, name)
		require.Equal(t, not[name], isNone, name)
	}
}
