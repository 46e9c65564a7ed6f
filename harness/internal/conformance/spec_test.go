package conformance_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func casesByID() map[string]*conformance.Case {
	cases, _ := conformance.Loaded()
	all := map[string]*conformance.Case{}
	for _, c := range cases {
		all[c.ID] = c
	}
	return all
}

// Each statement is shown at every release that it holds for by a case that was recorded at one of them, and by no case about
// other releases only; each case shows a statement at every release that it holds for.
func TestStatementsAndCasesShowEachOther(t *testing.T) {
	_, oracle := conformance.Loaded()
	cases, shows := casesByID(), map[string][]spec.Statement{}
	require.Greater(t, len(spec.All()), 100)
	for _, s := range spec.All() {
		shown, recorded := map[wire.Release]bool{}, false
		for _, id := range s.Cases {
			c, common := cases[id], false
			require.NotNil(t, c, "%s: there is no case %s", s.Link, id)
			shows[id] = append(shows[id], s)
			for _, r := range wire.Releases() {
				if !s.Releases.Contain(r) {
					continue
				}
				if c.HoldsFor(r) {
					shown[r], common = true, true
				}
				if !recorded {
					_, absent, there := oracle.Case(r, id)
					recorded = there && absent == ""
				}
			}
			require.True(t, common, "%s holds for %s, and its case %s for %s: no release in common", s.Link, s.Releases, id, c.Range())
		}
		require.True(t, recorded, "%s: no recording shows one of its cases", s.Link)
		for _, r := range wire.Releases() {
			require.Equal(t, s.Releases.Contain(r), shown[r], "%s holds for %s: is it shown at %s?", s.Link, s.Releases, r)
		}
	}
	for id, c := range cases {
		for _, r := range wire.Releases() {
			require.True(t, !c.HoldsFor(r) || slices.ContainsFunc(shows[id], func(s spec.Statement) bool { return s.Releases.Contain(r) }),
				"%s: %s holds for %s, where no statement of docs/spec names it", c.Place, id, r)
		}
	}
}

// Each script of the catalogue is what some statement is about, at each release that sends it.
func TestEveryScriptHasAStatement(t *testing.T) {
	for _, script := range wire.Scripts() {
		about := spec.All().Where(func(s spec.Statement) bool { return slices.Contains(s.Scripts, string(script.Name)) })
		for _, r := range wire.Releases() {
			if script.SentBy(r) && !slices.ContainsFunc(about, func(s spec.Statement) bool { return s.Releases.Contain(r) }) {
				t.Errorf("%s is sent by %s, where no statement is about %s", script.Variant, r, script.Name)
				break
			}
		}
	}
	for _, s := range spec.All() {
		for _, name := range s.Scripts {
			if !slices.ContainsFunc(wire.Scripts(), func(script wire.Script) bool { return string(script.Name) == name }) {
				t.Errorf("%s: the catalogue has no script %s", s.Link, name)
			}
		}
	}
}

func TestVerificationShowsCausesAndEveryCase(t *testing.T) {
	r := conformance.NewReport(driver.Identity{Name: "port", Version: "1.0.0"}, "4.7.0", "redis 7.0.15")
	r.Total = 4
	r.Add(conformance.Result{ID: "DQ.offer/one", Status: conformance.Pass, JudgedBy: "4.7.0"})
	r.Add(conformance.Result{ID: "DQ.offer/two", Status: conformance.Fail, Cause: "an extra TIME", Detail: "<script>alert(1)</script>"})
	r.Add(conformance.Result{
		ID: "DQ.poll/one", Status: conformance.Fail, Cause: "an extra TIME", Command: "dq-bench verify",
		Statements: []spec.Statement{{ID: "W-POLL-1", Text: "Poll MUST take.", Link: "docs/spec/poll.md#w-poll-1"}},
	})

	var out strings.Builder
	require.NoError(t, r.Page().Write(&out))
	page := out.String()
	for _, text := range []string{
		`<header class="bad">`, "port:1.0.0 is not Redisson 4.7.0 in 2 of 3 cases.", "<td>an extra TIME</td><td>DQ.offer/two, DQ.poll/one</td>", "1 by the recordings of 4.7.0",
		"&lt;script&gt;alert(1)", `title="DQ.poll/one: fail"`, "by itself: dq-bench verify",
		"W-POLL-1: Poll MUST take. (docs/spec/poll.md#w-poll-1)",
	} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, "<script>alert")
	require.Equal(t, 3, strings.Count(page, "<details>"), "each case once")
	r.Subject = "server"
	require.Equal(t, "redis 7.0.15 does not serve port:1.0.0 in 2 of 3 cases.", r.Page().Verdict)

	r = conformance.NewReport(driver.Identity{Name: "port"}, "4.7.0", "redis 7.0.15")
	r.Total = 2
	r.Add(conformance.Result{ID: "DQ.offer/one", Status: conformance.Pass, JudgedBy: "3.52.0"})
	require.NoError(t, r.Page().Write(&out))
	require.Contains(t, out.String(), `<header class="open">`, "it is not whole")

	for i, status := range []conformance.Status{conformance.Fail, conformance.Skip, conformance.FailedAsExpected, conformance.Error} {
		r.Add(conformance.Result{ID: "DQ.offer/" + string(rune('a'+i)), Status: status, Requirement: "It works.", Detail: "because\x00"})
	}
	require.Equal(t, conformance.Counts{Pass: 1, Fail: 1, Skip: 1, FailedAsExpected: 1, Error: 1}, r.Counts)
	r.StandsIn = "3.52.0 stands for it"
	require.Contains(t, r.Text(), "required  It works.")
	require.Regexp(t, `judged: 1 by the recordings of 3\.52\.0\. 3\.52\.0 stands for it$`, strings.Join(strings.Fields(r.Text()), " "))
	var junit bytes.Buffer
	require.NoError(t, r.WriteJUnit(&junit))
	var suite report.JUnitSuite
	require.NoError(t, xml.Unmarshal(junit.Bytes(), &suite))
	failed := slices.IndexFunc(suite.Cases, func(c report.JUnitCase) bool { return c.Failure != nil })
	require.Equal(t, []any{"DQ.offer", 1}, []any{suite.Cases[failed].Class, failed})
}

// claim is a row of documents.yaml.
type claim struct {
	Document string   `yaml:"document"`
	Claim    string   `yaml:"claim"`
	Verdict  string   `yaml:"verdict"`
	By       []string `yaml:"by"`
	Test     string   `yaml:"test"`
	Note     string   `yaml:"note"`
	Session  []struct{ Send, Reply any }
}

// Every claim has a verdict, and what the verdict rests on exists.
func TestClaimsRestOnCasesAndTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../scenarios/documents.yaml")
	require.NoError(t, err)
	var file struct {
		Claims []claim `yaml:"claims"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&file))

	cases := casesByID()
	documents := make(map[string]int)
	for _, c := range file.Claims {
		documents[c.Document]++
		require.Contains(t, []string{"confirmed", "refuted", "release-dependent"}, c.Verdict, c.Claim)
		require.True(t, len(c.By)+len(c.Session) > 0 || c.Test != "", c.Claim)
		if c.Verdict != "confirmed" {
			require.NotEmpty(t, c.Note, c.Claim)
		}
		for _, id := range c.By {
			require.NotNil(t, cases[id], "%s: there is no case %s", c.Claim, id)
		}
		if c.Test != "" {
			requireTest(t, c.Test)
		}
	}
	require.Len(t, documents, 5)

	client := goredis.NewClient(&goredis.Options{Addr: redistest.Redis(t).Addr, Protocol: 2})
	defer client.Close()
	for _, c := range file.Claims {
		require.NoError(t, client.FlushDB(t.Context()).Err())
		for _, exchange := range c.Session {
			reply, err := client.Do(t.Context(), exchange.Send.([]any)...).Result()
			require.NoError(t, err, exchange.Send)
			require.Equal(t, fmt.Sprint(exchange.Reply), fmt.Sprint(reply), exchange.Send)
		}
	}
}

// requireTest looks for the function of package.Test in the tests of the project.
func requireTest(t *testing.T, name string) {
	t.Helper()
	pkg, function, _ := strings.Cut(name, ".")
	found := false
	err := filepath.WalkDir("../../..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") || filepath.Base(filepath.Dir(file)) != pkg {
			return err
		}
		text, err := os.ReadFile(file)
		found = found || regexp.MustCompile(`(?m)^func `+function+`\(`).Match(text)
		return err
	})
	require.NoError(t, err)
	require.True(t, found, "there is no test %s", name)
}
