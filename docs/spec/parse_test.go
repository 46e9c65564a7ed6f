package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

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
	require.Equal(t, "docs/spec/a.md#w-a-1", s.Link)
	require.Equal(t, May, all[1].Level)
}

// Everything that is meant as a statement is read as one, and each item of its list.
func TestEveryStatementIsRead(t *testing.T) {
	heading, list := regexp.MustCompile(`(?m)^#+\s*W-.*$`), "(- Releases: [^`]* )?- Cases: (`[^`]+`, )*`[^`]+`( - Scripts: (`[^`]+`, )*`[^`]+`)?"
	read := map[string]int{}
	for _, s := range All() {
		read[fileOf(s)]++
		text, err := files.ReadFile(fileOf(s))
		require.NoError(t, err)
		require.Regexp(t, regexp.QuoteMeta("### "+s.ID+" "+s.Text)+" "+list+"( [^-]|$)", line(string(text)))
		require.NotEmpty(t, s.Level, s.ID)
		require.True(t, slices.ContainsFunc(wire.Releases(), s.Releases.Contain), s.ID)
	}
	for name, n := range read {
		text, err := files.ReadFile(name)
		require.NoError(t, err)
		require.Len(t, heading.FindAllString(string(text), -1), n, name)
	}
}

// Numbers of an area count from 1 in one file. Each statement has one level, and the words of RFC 2119 are for statements. A
// statement is what can be tested: a sentence or two, and no essay.
func TestStatementsAreWellFormed(t *testing.T) {
	last, file := map[string]int{}, map[string]string{}
	words, sentence := map[string]int{}, regexp.MustCompile(`[.:] [A-Z]`)
	for _, s := range All() {
		require.True(t, strings.HasSuffix(s.Text, "."), "%s ends without a full stop", s.ID)
		require.LessOrEqual(t, len(sentence.FindAllString(s.Text, -1)), 1, "%s has more than two sentences", s.ID)
		require.LessOrEqual(t, len(strings.Fields(s.Text)), 50, "%s is long", s.ID)
		parts := strings.Split(s.ID, "-")
		last[parts[1]]++
		require.Equal(t, fmt.Sprint(last[parts[1]]), parts[2], s.ID)
		require.Contains(t, []string{"", fileOf(s)}, file[parts[1]], s.ID)
		file[parts[1]] = fileOf(s)
		for _, word := range level.FindAllString(s.Text, -1) {
			require.Equal(t, string(s.Level), word, s.ID)
			words[fileOf(s)]++
		}
	}
	for name, n := range words {
		text, err := files.ReadFile(name)
		require.NoError(t, err)
		require.Len(t, level.FindAllString(string(text), -1), n, "%s: say it in a statement, or in small letters", name)
	}
}

func fileOf(s Statement) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(s.Link, Dir+"/"), "#")
	return name
}
