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
	"harness/internal/run":             {"harness/internal/plan"},
	"harness/internal/run/runtest":     {"harness/internal/run"},
	"harness/internal/compare":         {"harness/internal/run", "harness/internal/compare/stats"},
	"harness/internal/compare/stats":   {},
	"harness/internal/page":            {"harness/internal/analysis", "harness/internal/compare", "harness/internal/compare/stats", "harness/internal/conformance", "internal/monitor", "harness/internal/run"},
	"harness/internal/web":             {"harness/internal/compare", "harness/internal/load", "harness/internal/page", "harness/internal/plan", "harness/internal/run"},
	"harness/internal/metrics":         {"harness/internal/forensics/bridge", "harness/internal/forensics/inspect", "harness/internal/load", "harness/internal/plan", "harness/internal/run"},
	"harness/internal/plan":            {},
	"harness/internal/load":            {"harness/internal/plan", "harness/internal/run", "harness/driver", "harness/internal/driver/program", "harness/internal/faketime"},
	"harness/driver":          {},
	"harness/internal/driver/baseline": {"harness/driver"},
	"harness/internal/driver/library":  {"harness/driver", "internal/server"},
	"harness/internal/driver/program":  {"harness/driver", "harness/internal/driver/library", "internal/redisson"},
	"harness/internal/driver/spec":     {"harness/driver", "harness/internal/driver/baseline", "harness/internal/driver/library", "harness/internal/driver/program"},
	"internal/server":          {"internal/server/embedded"},
	"internal/server/embedded": {},
	"internal/server/proxy":    {},
	"harness/internal/faketime":        {},
	"harness/internal/fault":           {"harness/internal/faketime", "harness/internal/load", "harness/internal/plan", "harness/internal/run", "internal/server", "internal/server/proxy"},
	"internal/monitor":         {},
	"harness/internal/analysis":        {"internal/monitor"},
	"harness/internal/trace":           {"internal/monitor"},

	"harness/internal/simulate": {"internal/server/embedded"},
	"harness/internal/topology": {"harness/internal/conformance", "harness/internal/driver/library", "harness/internal/driver/program", "internal/monitor", "harness/internal/run", "internal/server"},

	"harness/internal/forensics":         {},
	"harness/internal/forensics/inspect": {"harness/internal/forensics"},
	"harness/internal/forensics/migrate": {"harness/internal/forensics"},
	"harness/internal/forensics/bridge":  {"harness/internal/forensics", "harness/internal/forensics/migrate"},
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
	visit("harness/internal/load", nil)
	visit("harness/internal/metrics", nil)
	require.True(t, seen["harness/internal/run"], "the way was followed")
}
