package cli

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

const schemaFolder = "../../../docs/schemas"

var updateSchemas = flag.Bool("update", false, "write docs/schemas and docs/reference.md")

// documents are what people read of --json, by the name of its schema, and with the command that prints it.
var documents = map[string]struct {
	command string
	of      reflect.Type
}{
	run.Schema:         {"dq-bench run --json, and run.json", reflect.TypeFor[run.Document]()},
	conformance.Schema: {"dq-bench verify --json", reflect.TypeFor[conformance.Report]()},
	analysis.Schema:    {"dq-bench analyze --json", reflect.TypeFor[analysis.Document]()},
	ops.Schema:         {"dq-bench doctor --json", reflect.TypeFor[ops.Look]()},
}

func schemaFile(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "dq-bench/"), "/", "-") + ".json"
}

// Each of these documents has a schema in docs/schemas, made from its Go type and its doc comments.
func TestSchemas(t *testing.T) {
	var files []string
	for name, document := range documents {
		schema := schemaOf(t, name)
		loosen(schema)
		schema.Schema = "https://json-schema.org/draft/2020-12/schema"
		schema.Title = name + ": " + document.command
		want := must(json.MarshalIndent(schema, "", " "))
		path := filepath.Join(schemaFolder, schemaFile(name))
		if *updateSchemas {
			require.NoError(t, os.WriteFile(path, append(want, '\n'), 0o644))
		}
		is, err := os.ReadFile(path)
		require.NoError(t, err, "write it by: go test ./harness/internal/cli -run Schemas -args -update")
		require.Equal(t, string(want)+"\n", string(is), "write it by: go test ./harness/internal/cli -run Schemas -args -update")
		files = append(files, schemaFile(name))
	}
	there := must(filepath.Glob(schemaFolder + "/*"))
	for i := range there {
		there[i] = filepath.Base(there[i])
	}
	require.ElementsMatch(t, files, there)
}

// checkDocument fails unless a document names its schema, and is what that schema says and nothing else.
func checkDocument(t require.TestingT, data []byte) {
	var document map[string]any
	require.NoError(t, json.Unmarshal(data, &document))
	name, _ := document["schema"].(string)
	require.Regexp(t, `^dq-bench/\w+/v\d+$`, name)
	if _, read := documents[name]; !read {
		return
	}
	require.NoError(t, must(schemaOf(t, name).Resolve(nil)).Validate(document))
}

// schemaOf returns the strict schema of a document: it has no other fields than those of its type.
func schemaOf(t require.TestingT, name string) *jsonschema.Schema {
	of := documents[name].of
	special := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[[]byte]():        {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[run.Histogram](): histogramSchema,
	}
	schema := must(jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: special}))
	d := describer{special: special, packages: map[string]map[string]string{}}
	d.describe(t, of, schema)
	schema.Properties["schema"].Const = jsonschema.Ptr[any](name)
	return schema
}

// histogramSchema is what a run.Histogram is written as.
var histogramSchema = &jsonschema.Schema{
	Type:        "object",
	Description: "Durations in ns. The quantiles are for readers without an HDR library; hdr has them all.",
	Required:    []string{"unit", "count", "min", "max", "mean", "p50", "p90", "p99", "p999", "p9999", "hdr"},
	Properties: map[string]*jsonschema.Schema{
		"unit": {Const: jsonschema.Ptr[any]("ns")}, "count": {Type: "integer"}, "min": {Type: "integer"}, "max": {Type: "integer"}, "mean": {Type: "number"},
		"p50": {Type: "integer"}, "p90": {Type: "integer"}, "p99": {Type: "integer"}, "p999": {Type: "integer"}, "p9999": {Type: "integer"},
		"hdr":          {Type: "string", Description: "HdrHistogram V2, compressed, in base64."},
		"hdr_negative": {Type: "string", Description: "That of the values below zero, without their sign."},
	},
	AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
}

// loosen allows fields that a later version adds.
func loosen(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		loosen(p)
	}
	loosen(s.Items)
	loosen(s.AdditionalProperties)
}

type describer struct {
	special map[reflect.Type]*jsonschema.Schema
	// packages have the comments of types, and of fields as Type.Field, by import path.
	packages map[string]map[string]string
}

func (d describer) describe(t require.TestingT, of reflect.Type, s *jsonschema.Schema) {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if d.special[of] != nil {
		return
	}
	switch of.Kind() {
	case reflect.Slice, reflect.Array:
		d.describe(t, of.Elem(), s.Items)
	case reflect.Map:
		d.describe(t, of.Elem(), s.AdditionalProperties)
	case reflect.Struct:
		if s.Description == "" {
			s.Description = d.comment(t, of, "")
		}
		for _, f := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			field := s.Properties[name]
			if field == nil {
				continue
			}
			owner := of
			if len(f.Index) > 1 {
				owner = of.FieldByIndex(f.Index[:len(f.Index)-1]).Type
			}
			if field.Description = d.comment(t, owner, f.Name); field.Description == "" && d.special[f.Type] != nil {
				field.Description = d.special[f.Type].Description
			}
			d.describe(t, f.Type, field)
		}
	}
}

// comment returns that of a type, or of one of its fields.
func (d describer) comment(t require.TestingT, of reflect.Type, field string) string {
	const module = "github.com/dq-bench/dq-bench/"
	path := of.PkgPath()
	folder, ours := strings.CutPrefix(path, module)
	if !ours || of.Name() == "" {
		return ""
	}
	if d.packages[path] == nil {
		d.packages[path] = commentsIn(t, "../../../"+folder)
	}
	if field != "" {
		return d.packages[path][of.Name()+"."+field]
	}
	return d.packages[path][of.Name()]
}

func commentsIn(t require.TestingT, folder string) map[string]string {
	all := map[string]string{}
	files := must(filepath.Glob(folder + "/*.go"))
	for _, path := range slices.DeleteFunc(files, func(path string) bool { return strings.HasSuffix(path, "_test.go") }) {
		file := must(parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution))
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				continue
			}
			for _, spec := range group.Specs {
				spec := spec.(*ast.TypeSpec)
				all[spec.Name.Name] = oneLine(group.Doc, spec.Doc)
				if of, ok := spec.Type.(*ast.StructType); ok {
					for _, field := range of.Fields.List {
						for _, name := range field.Names {
							all[spec.Name.Name+"."+name.Name] = oneLine(field.Doc, field.Comment)
						}
					}
				}
			}
		}
	}
	return all
}

func oneLine(comments ...*ast.CommentGroup) string {
	var words []string
	for _, c := range comments {
		words = append(words, strings.Fields(c.Text())...)
	}
	return strings.Join(words, " ")
}
