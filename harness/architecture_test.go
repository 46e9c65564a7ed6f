// Package harness_test keeps the rooms of the house apart.
package harness_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/dq-bench/dq-bench/"

// mayImport are the rooms of the harness that a room may import, itself and what lies
// below it (and its tests) apart; a room that is not named may import any.
var mayImport = map[string][]string{
	"harness/run":             {"harness/plan"},
	"harness/run/runtest":     {"harness/run"},
	"harness/compare":         {"harness/run", "harness/compare/stats"},
	"harness/compare/stats":   {},
	"harness/history":         {"harness/compare", "harness/compare/stats", "harness/run"},
	"harness/page":            {"harness/analysis", "harness/compare", "harness/compare/stats", "harness/conformance", "harness/history", "harness/monitor", "harness/run"},
	"harness/web":             {"harness/compare", "harness/history", "harness/load", "harness/page", "harness/plan", "harness/run"},
	"harness/metrics":         {"harness/forensics/bridge", "harness/forensics/inspect", "harness/load", "harness/plan", "harness/run"},
	"harness/plan":            {},
	"harness/load":            {"harness/plan", "harness/run", "harness/driver", "harness/driver/program", "harness/faketime"},
	"harness/driver":          {},
	"harness/driver/baseline": {"harness/driver"},
	"harness/driver/library":  {"harness/driver", "harness/server"},
	"harness/driver/program":  {"harness/driver", "harness/driver/library", "harness/driver/program/redisson"},
	"harness/driver/spec":     {"harness/driver", "harness/driver/baseline", "harness/driver/library", "harness/driver/program"},
	"harness/server":          {"harness/server/embedded"},
	"harness/server/embedded": {},
	"harness/server/proxy":    {},
	"harness/faketime":        {},
	"harness/fault":           {"harness/faketime", "harness/load", "harness/plan", "harness/run", "harness/server", "harness/server/proxy"},
	"harness/monitor":         {},
	"harness/analysis":        {"harness/monitor"},
	"harness/trace":           {"harness/monitor"},

	"harness/simulate": {"harness/server/embedded"},
	"harness/topology": {"harness/conformance", "harness/driver/library", "harness/driver/program", "harness/monitor", "harness/run", "harness/server"},

	"harness/forensics":         {},
	"harness/forensics/inspect": {"harness/forensics"},
	"harness/forensics/migrate": {"harness/forensics"},
	"harness/forensics/bridge":  {"harness/forensics", "harness/forensics/migrate"},
}

// imports returns what each package of the module imports, tests apart, by its folder
// from the root of the module.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	root := filepath.Dir(must(os.Getwd()))
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, other := os.Stat(filepath.Join(file, "go.mod"))
			if strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || other == nil && file != root {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(must(filepath.Rel(root, filepath.Dir(file))))
		for _, i := range parsed.Imports {
			all[folder] = append(all[folder], must(strconv.Unquote(i.Path.Value)))
		}
		return nil
	})
	require.NoError(t, err)
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Imports point one way, from cmd to the harness to dq, and within the harness as the
// table says.
func TestImportsPointOneWay(t *testing.T) {
	all := imports(t)
	for room, allowed := range mayImport {
		require.Contains(t, all, room, "the table names a room that is not there")
		for _, of := range all[room] {
			folder, ours := strings.CutPrefix(of, module)
			if ours && strings.HasPrefix(folder, "harness/") {
				require.Contains(t, allowed, folder, "%s imports %s", room, folder)
			}
		}
	}
	for room, of := range all {
		for _, imported := range of {
			folder, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			top, _, _ := strings.Cut(room, "/")
			switch top {
			case "dq":
				require.False(t, strings.HasPrefix(folder, "harness") || strings.HasPrefix(folder, "cmd"), "%s imports %s", room, folder)
			case "harness":
				require.False(t, strings.HasPrefix(folder, "cmd"), "%s imports %s", room, folder)
			}
		}
	}
}

// Who measures links nothing that draws pages.
func TestLoadLinksNoTemplates(t *testing.T) {
	all := imports(t)
	seen := map[string]bool{}
	var visit func(folder string, way []string)
	visit = func(folder string, way []string) {
		if seen[folder] {
			return
		}
		seen[folder] = true
		for _, imported := range all[folder] {
			require.NotEqual(t, "template", path.Base(imported), "%s imports %s", strings.Join(append(way, folder), " → "), imported)
			if next, ours := strings.CutPrefix(imported, module); ours {
				visit(next, append(way, folder))
			}
		}
	}
	visit("harness/load", nil)
	visit("harness/metrics", nil)
	require.True(t, seen["harness/run"], "the way was followed")
}
