// Package harness_test keeps the rooms of the house apart, and small.
package harness_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const module = "github.com/dq-bench/dq-bench/"

var update = flag.Bool("update", false, "lower the figures of testdata/house.tsv to the tree's, and print the rooms into CONTRIBUTING.md")

// A room is a set of folders that answer one question. Its budget stands in testdata/house.tsv.
type room struct {
	name     string
	question string
	folders  []string // with all below them that no other room names
	imports  []string // rooms that this room may import
}

var rooms = []room{
	{"dq", "What do I import to share a queue with Redisson?", []string{"dq"}, []string{"codec", "ground"}},
	{"codec", "What bytes does Java write for a value?", []string{"dq/codec"}, []string{"dq", "ground"}},
	{"ground", "Which Redis, and which Redisson, for a test or a run?", []string{"internal"}, []string{"dq"}},
	{"load", "How late are messages, and how fast is the queue?", []string{
		"harness/driver", "harness/internal/driver", "harness/internal/load", "harness/internal/plan", "harness/internal/series",
	}, []string{"dq", "codec", "ground", "result", "judge", "report"}},
	{"result", "What does a run file say?", []string{"harness/internal/run"}, []string{"dq", "ground", "load"}},
	{"report", "Which side is later, and how do people look at it?", []string{
		"harness/internal/compare", "harness/internal/report", "harness/internal/web",
	}, []string{"dq", "ground", "result", "load"}},
	{"judge", "Does an implementation behave like Redisson?", []string{
		"harness/internal/trace", "harness/internal/conformance", "harness/internal/simulate", "harness/internal/lab", "docs", "recordings", "scenarios",
	}, []string{"dq", "codec", "ground", "load", "result", "report"}},
	{"ops", "What is wrong with a live queue, and how is it repaired?", []string{
		"harness/internal/ops", "harness/internal/analysis",
	}, []string{"dq", "codec", "ground", "judge", "result", "report"}},
	{"cli", "Which commands and flags are there, and what is public?", []string{"harness", "harness/internal/cli", "cmd"},
		[]string{"dq", "codec", "ground", "load", "result", "report", "judge", "ops"}},
}

// roomOf returns the room that names the longest prefix of a folder, or "". A folder of harness/internal is named by a room.
func roomOf(folder string) (found string) {
	longest := -1
	for _, r := range rooms {
		for _, f := range r.folders {
			if f == "harness" && strings.HasPrefix(folder, "harness/internal/") {
				continue
			}
			if (folder == f || strings.HasPrefix(folder, f+"/")) && len(f) > longest {
				found, longest = r.name, len(f)
			}
		}
	}
	return found
}

// A source is one Go file of the module.
type source struct {
	folder string
	test   bool
	lines  int
	file   *ast.File
}

// sources are the parsed Go files of the module; the peers are a module of their own.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	require.NoError(t, err)
	return all
}

var parsed = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, noModule := os.Stat(filepath.Join(file, "go.mod"))
			name := entry.Name()
			if file != ".." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "out", "bin"}, name) || noModule == nil) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel("..", filepath.Dir(file))
		if err != nil {
			return err
		}
		all = append(all, source{filepath.ToSlash(folder), strings.HasSuffix(file, "_test.go"), strings.Count(string(text), "\n"), parsed})
		return nil
	})
	return all, err
})

func (s source) imports() (all []string) {
	for _, i := range s.file.Imports {
		name, _ := strconv.Unquote(i.Path.Value)
		all = append(all, name)
	}
	return all
}

// clientRooms may import go-redis: whoever sees its client type pays a second of compile time, and other packages use redis.Conn.
var clientRooms = []string{
	"dq", "internal/redis", "internal/redistest", "harness/redistest", "harness/internal/driver/spec", "harness/internal/lab",
	"cmd/dq-demo",
}

// Every production import stays within the rooms that the importing room may see. dq and its codecs import no compression, but for
// dq/codec/packed.
func TestImportsPointOneWay(t *testing.T) {
	may := map[string][]string{}
	for _, r := range rooms {
		may[r.name] = append(r.imports, r.name)
	}
	for _, s := range sources(t) {
		of := roomOf(s.folder)
		require.NotEmpty(t, of, "%s belongs to no room", s.folder)
		require.NotContains(t, []string{"util", "utils", "common", "helper", "helpers"}, path.Base(s.folder), s.folder)
		if s.test {
			continue
		}
		library := strings.HasPrefix(s.folder, "dq")
		client := slices.ContainsFunc(clientRooms, func(room string) bool { return s.folder == room || strings.HasPrefix(s.folder, room+"/") })
		for _, imported := range s.imports() {
			require.True(t, client || !strings.HasPrefix(imported, "github.com/redis/go-redis"), "%s imports go-redis: use redis.Conn", s.folder)
			compresses := strings.Contains(imported, "/compress") || strings.Contains(imported, "/lz4") || strings.HasSuffix(imported, "/codec/packed")
			require.False(t, compresses && library && s.folder != "dq/codec/packed", "%s imports %s", s.folder, imported)
			if folder, ours := strings.CutPrefix(imported, module); ours {
				require.Contains(t, may[of], roomOf(folder), "%s (%s) imports %s", s.folder, of, folder)
				require.False(t, library && strings.HasPrefix(folder, "internal/redis"), "%s imports %s", s.folder, folder)
			}
		}
	}
}

// The packages that measure link no package that draws pages.
func TestLoadLinksNoTemplates(t *testing.T) {
	linked, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"harness/internal/load").Output()
	require.NoError(t, err)
	require.Contains(t, string(linked), module+"harness/internal/run\n")
	require.NotRegexp(t, `(?m)/template$`, string(linked), "go mod why names the way")
}

// publicNames counts exported types, functions, values and methods that a program outside this module can use.
func publicNames(all []source) (n int) {
	for _, s := range all {
		if s.test || strings.Contains("/"+s.folder+"/", "/internal/") || s.file.Name.Name == "main" {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"))) {
					n++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if spec.Name.IsExported() {
							n++
						}
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							if name.IsExported() {
								n++
							}
						}
					}
				}
			}
		}
	}
	return n
}

// turns are phrases that hide the noun or the actor; CONTRIBUTING says what to write instead.
var turns = regexp.MustCompile(`(?i)\b(that of|those|what (is|was|are|were|has|had|the|it|they|a|an)|nobody|somebody|whoever|who|tells?|told|comes?|came|stands?|stood|where|besides?|alone|none)\b`)

var word = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)

// A prose counts words, and turns among them.
type prose struct{ words, turns int }

func (p *prose) add(text string) {
	p.words += len(word.FindAllString(text, -1))
	p.turns += len(turns.FindAllString(text, -1))
}

var codeBlock = regexp.MustCompile("(?ms)^```.*?^```|^    .*$")

// documents returns the Markdown files of the tree, and how many words each has. The Chinese ones are limited in characters.
func documents(t *testing.T, p *prose) (words map[string]int) {
	t.Helper()
	words = map[string]int{}
	require.NoError(t, filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && file != ".." && (strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".github" || entry.Name() == "out" || entry.Name() == "bin") {
			return filepath.SkipDir
		}
		if filepath.Ext(file) != ".md" || strings.HasSuffix(file, ".zh-CN.md") {
			return nil
		}
		text, err := os.ReadFile(file)
		for _, m := range regexp.MustCompile(`\]\(([^):#]*)(?:#([^)]+))?\)`).FindAllStringSubmatch(string(text), -1) {
			target := file
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(file), m[1])
			}
			_, dead := os.Stat(target)
			require.NoError(t, dead, "a link of %s", file)
			if m[2] != "" {
				require.Contains(t, anchors(t, target), m[2], "a link of %s to %s", file, target)
			}
		}
		words[filepath.ToSlash(strings.TrimPrefix(file, "../"))] = len(strings.Fields(string(text)))
		p.add(codeBlock.ReplaceAllString(string(text), ""))
		return err
	}))
	return words
}

func anchors(t *testing.T, page string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

func figures(t *testing.T) map[string]int {
	t.Helper()
	all := sources(t)
	f := map[string]int{"public names": publicNames(all)}
	packages := map[string]bool{}
	var english prose
	for _, s := range all {
		if s.test {
			f["test lines"] += s.lines
			continue
		}
		packages[s.folder] = true
		f["production lines"] += s.lines
		f["room "+roomOf(s.folder)] += s.lines
		for _, c := range s.file.Comments {
			english.add(c.Text())
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && strings.Count(text, " ") >= 3 {
					english.add(text)
				}
			}
			return true
		})
	}
	f["packages"] = len(packages)
	for file, words := range documents(t, &english) {
		if strings.HasPrefix(file, "docs/spec/") {
			f["words in docs/spec"] += words
		} else {
			f["words outside docs/spec"] += words
		}
		if file == "README.md" {
			f["words in README"] = words
		}
	}
	f["turns per 10,000 words"] = english.turns * 10_000 / english.words
	return f
}

const figuresFile = "testdata/house.tsv"

// Each figure of the tree is at most the one in testdata/house.tsv, which only goes down.
func TestTheHouseOnlyShrinks(t *testing.T) {
	have := figures(t)
	table, err := os.ReadFile(figuresFile)
	require.NoError(t, err)
	var rows []string
	for line := range strings.Lines(string(table)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		require.Len(t, columns, 3, "expected a figure, its limit and its goal, got %q", line)
		limit, err := strconv.Atoi(columns[1])
		if err != nil {
			rows = append(rows, strings.TrimSpace(line)) // the head
			continue
		}
		n, measured := have[columns[0]]
		delete(have, columns[0])
		require.True(t, measured, "%s names %q, which is not measured", figuresFile, columns[0])
		if *update {
			limit = min(limit, n)
		}
		switch {
		case n > limit:
			t.Errorf("%s: got %d, limit %d", columns[0], n, limit)
		case n*100 < limit*98:
			t.Errorf("%s: got %d, limit %d: lower the limit to %d (go test ./harness -run 'House|Rooms' -update)", columns[0], n, limit, n)
		}
		rows = append(rows, fmt.Sprintf("%s\t%d\t%s", columns[0], limit, columns[2]))
	}
	require.Empty(t, have, "%s lacks figures", figuresFile)
	if *update {
		require.NoError(t, os.WriteFile(figuresFile, []byte(strings.Join(rows, "\n")+"\n"), 0o644))
	}
}

// The documents in Chinese are short, and operate.zh-CN.md has the commands and names of operate.md.
func TestChineseDocumentsAreShort(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}
	chinese := read("../docs/operate.zh-CN.md")
	require.LessOrEqual(t, utf8.RuneCountInString(read("../README.zh-CN.md")+chinese), 8_000, "characters")
	english, _, _ := strings.Cut(read("../docs/operate.md"), "<!-- gauges")
	code := regexp.MustCompile("(?m)^    .*$|`[^`]+`")
	for _, name := range code.FindAllString(english, -1) {
		require.Contains(t, chinese, name)
	}
}

func TestContributingHasTheRooms(t *testing.T) {
	var table strings.Builder
	table.WriteString("| room | question | folders |\n|---|---|---|\n")
	for _, r := range rooms {
		fmt.Fprintf(&table, "| %s | %s | `%s` |\n", r.name, r.question, strings.Join(r.folders, "` `"))
	}
	const file, begin, end = "../CONTRIBUTING.md", "<!-- rooms: go test ./harness -run 'House|Rooms' -update -->\n", "<!-- /rooms -->"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, "CONTRIBUTING.md has no %s", end)
	want := before + begin + table.String() + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run go test ./harness -run Rooms -update")
}
