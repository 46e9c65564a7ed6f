package inspect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
)

// The page about the document names every field of it and every kind of finding.
func TestTheDocumentIsDescribed(t *testing.T) {
	content, err := os.ReadFile("../../../../docs/inspection.md")
	require.NoError(t, err)
	page := string(content)
	visited := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || visited[of] {
			return
		}
		visited[of] = true
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
				require.Regexp(t, "`[^`]*\\b"+name+"\\b[^`]*`", page, "%s.%s", of, of.Field(i).Name)
				visit(of.Field(i).Type)
			}
		}
	}
	visit(reflect.TypeFor[inspect.Inspection]())

	file, err := parser.ParseFile(token.NewFileSet(), "finding.go", nil, 0)
	require.NoError(t, err)
	kinds := 0
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			if literal, ok := spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				kind, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				require.Contains(t, page, "`"+kind+"`")
				kinds++
			}
		}
	}
	require.Greater(t, kinds, 10)
}
