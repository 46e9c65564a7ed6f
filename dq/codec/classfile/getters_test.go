package classfile

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

// Jackson 3 writes what a getter of an interface returns, which no field of the class stands for.
func TestGettersOfInterfaces(t *testing.T) {
	getter := func(name string, hasCode bool) member {
		return member{access: accPublic, name: name, descriptor: "()Ljava/lang/String;", hasCode: hasCode}
	}
	classes := map[string]*class{
		"Tagged":     {name: "Tagged", access: accInterface, super: "java.lang.Object", methods: []member{getter("getTag", true), getter("getName", false), getter("tag", true)}},
		"Above":      {name: "Above", access: accInterface, super: "java.lang.Object", interfaces: []string{"Tagged"}},
		"Plain":      {name: "Plain", super: "java.lang.Object", interfaces: []string{"Tagged"}},
		"Further":    {name: "Further", super: "java.lang.Object", interfaces: []string{"Above"}},
		"Base":       {name: "Base", super: "java.lang.Object", methods: []member{getter("getTag", false)}},
		"Overridden": {name: "Overridden", super: "Base", interfaces: []string{"Tagged"}},
	}
	find := func(name string) (*class, error) {
		if c := classes[name]; c != nil {
			return c, nil
		}
		return nil, fs.ErrNotExist
	}
	for name, want := range map[string][]string{"Plain": {"getTag()"}, "Further": {"getTag()"}, "Overridden": nil} {
		require.Equal(t, want, classes[name].beans(find), name)
	}
}
