package wire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Each script of the catalogue has a constant, and each constant a script: a name that is
// added to one has to be added to the other.
func TestScriptNamesAreThoseOfTheCatalogue(t *testing.T) {
	constants := scriptNames(t)
	named := map[wire.ScriptName]bool{}
	for _, s := range wire.Scripts() {
		require.Contains(t, constants, s.Name, "script_name.go lacks a constant for a script of variants.csv")
		named[s.Name] = true
	}
	for _, name := range constants {
		require.Contains(t, named, name, "variants.csv lacks a script that script_name.go names")
	}
	require.Len(t, constants, len(named), "a script has two constants")
}

// scriptNames reads the constants from the source, which alone knows them all.
func scriptNames(t *testing.T) (names []wire.ScriptName) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "script_name.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		require.Len(t, spec.Values, 1, "%s: expected a name and its text", spec.Names[0])
		literal, ok := spec.Values[0].(*ast.BasicLit)
		require.True(t, ok, "%s: expected a string", spec.Names[0])
		text, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		names = append(names, wire.ScriptName(text))
		return false
	})
	return names
}
