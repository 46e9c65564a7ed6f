package spec

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// of makes a file of one statement, the fields replaced that are given.
func of(text string, fields ...string) string {
	all := []string{"- Releases: all", "- Cases: `DQ.a/b`"}
	if len(fields) > 0 {
		all = fields
	}
	return "# Title\n\nProse.\n\n### W-A-1\n\n" + text + "\n\n" + strings.Join(all, "\n") + "\n\nWhy.\n"
}

func TestParse(t *testing.T) {
	text := of("An offer MUST publish\nits due time.",
		"- Releases: 2.8.2 to 2.15.2, 3.3.2 on", "- Cases: `DQ.a/b`,", "  `DQ.a/c`",
		"- Scripts: `offer`")
	all, err := Parse("docs/spec/a.md", text+"\n### W-A-2\n\nA client MAY wait.\n\n"+
		"- Releases: 3.13.3\n- Cases: `DQ.a/d`\n")
	require.NoError(t, err)
	require.Len(t, all, 2)
	s := all[0]
	require.Equal(t, "An offer MUST publish its due time.", s.Text)
	require.Equal(t, Must, s.Level)
	require.Equal(t, []string{"DQ.a/b", "DQ.a/c"}, s.Cases)
	require.Equal(t, []string{"offer"}, s.Scripts)
	require.Equal(t, "docs/spec/a.md#w-a-1", s.Link())
	require.Equal(t, 5, s.Line)
	require.Equal(t, May, all[1].Level)
}

func TestParseErrorsNameTheLine(t *testing.T) {
	for want, text := range map[string]string{
		"docs/spec/a.md:1: expected ### W-AREA-1":               "## W-A-1\n",
		"docs/spec/a.md:5: W-A-1: expected MUST, SHOULD or MAY": of("An offer publishes."),
		"docs/spec/a.md:5: expected ### W-AREA-1":               of(""),
		"and an item Cases":                                     of("It MUST.", "- Releases: all"),
		"Cases: expected words in backticks":                    of("It MUST.", "- Cases: DQ.a/b"),
		"Seen: expected Releases, Cases or Scripts":             of("It MUST.", "- Seen: x"),
		`Releases: expected "all", or ranges`:                   of("It MUST.", "- Releases: 4.7.0 and later"),
		"there is no Redisson release 3.99.0":                   of("It MUST.", "- Releases: 3.99.0 on"),
		`"3.3.0 to 3.2.0" ends before it begins`:                of("It MUST.", "- Releases: 3.3.0 to 3.2.0"),
		`"2.7.0 on": a range of 2.x ends within it`:             of("It MUST.", "- Releases: 2.7.0 on"),
		`"2.7.0 to 2.15.2" is not later than`:                   of("It MUST.", "- Releases: 3.2.0 on, 2.7.0 to 2.15.2"),
	} {
		_, err := Load(fstest.MapFS{"a.md": {Data: []byte(text)}, "README.md": {Data: []byte("### W-A-1\n")}})
		require.ErrorContains(t, err, want)
	}
}

// Numbers of an area count from 1 in one file. Each statement has one level, and the words of RFC 2119 are for statements.
func TestStatementsAreWellFormed(t *testing.T) {
	last, file := map[string]int{}, map[string]string{}
	words := map[string]int{}
	for _, s := range All() {
		parts := strings.Split(s.ID, "-")
		last[parts[1]]++
		require.Equal(t, fmt.Sprint(last[parts[1]]), parts[2], s.ID)
		require.Contains(t, []string{"", s.File}, file[parts[1]], s.ID)
		file[parts[1]] = s.File
		for _, word := range level.FindAllString(s.Text, -1) {
			require.Equal(t, string(s.Level), word, s.ID)
			words[s.File]++
		}
	}
	for name, n := range words {
		text, err := files.ReadFile(strings.TrimPrefix(name, Dir+"/"))
		require.NoError(t, err)
		require.Len(t, level.FindAllString(string(text), -1), n, "%s: say it in a statement, or in small letters", name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(of("It MUST."))
	f.Add(of("It MUST.", "- Releases: 2.8.2 to 2.15.2, 3.3.2 on", "- Cases: `a`,", "  `b`"))
	f.Add("### W-A-1\n- ")
	f.Add("```\n### W-A-1\n```")
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := Parse("docs/spec/a.md", text)
		for _, s := range all {
			if s.Text == "" || len(s.Cases) == 0 || !strings.Contains(s.Text, string(s.Level)) {
				t.Fatalf("accepted a statement that lacks something: %+v", s)
			}
			again, err := ParseRanges(s.Releases.String())
			if err != nil || again.Contain(wire.Newest()) != s.Releases.Contain(wire.Newest()) {
				t.Fatalf("ranges %q are not read back: %v", s.Releases, err)
			}
		}
	})
}
