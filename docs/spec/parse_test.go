package spec

import (
	"errors"
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
	all, err := Parse("docs/spec/a.md", text+"\n```text\nMUST is no statement in a block\n```\n### W-A-2\n\nA client MAY wait.\n\n"+
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

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	releases, cases := "- Releases: all", "- Cases: `DQ.a/b`"
	for want, text := range map[string]string{
		"docs/spec/a.md:3: MUST is for statements":                          "# A\n\nA client MUST do it.\n",
		"docs/spec/a.md:1: expected a heading such as ### W-OFFER-3":        "## W-A-1\n",
		"docs/spec/a.md:1: W-A-2: expected W-A-1 here":                      "### W-A-2\n",
		"docs/spec/a.md:7: W-A-1: expected one of MUST":                     of("An offer publishes."),
		"docs/spec/a.md:7: W-A-1: MUST and SHOULD in one statement":         of("It MUST and SHOULD."),
		"docs/spec/a.md:7: W-A-1: expected MUST, SHOULD or MAY for SHALL":   of("It SHALL."),
		"docs/spec/a.md:9: W-A-1: expected the statement below its heading": of(""),
		`docs/spec/a.md:5: W-A-1: expected an item "Cases" below it`:        of("It MUST.", releases),
		"docs/spec/a.md:10: W-A-1: Releases is there already":               of("It MUST.", releases, releases),
		"docs/spec/a.md:9: W-A-1: Cases: expected words in backticks":       of("It MUST.", "- Cases: DQ.a/b"),
		"docs/spec/a.md:9: W-A-1: Seen: expected Releases, Cases":           of("It MUST.", "- Seen: x"),
		"docs/spec/a.md:9: W-A-1: expected an item such as":                 of("It MUST.", "Releases: all"),
		`Releases: expected "all", or ranges`:                               of("It MUST.", "- Releases: 4.7.0 and later", cases),
		"there is no Redisson release 3.99.0":                               of("It MUST.", "- Releases: 3.99.0 on", cases),
		`"3.3.0 to 3.2.0" ends before it begins`:                            of("It MUST.", "- Releases: 3.3.0 to 3.2.0", cases),
		`"2.7.0 on": a range of 2.x ends within it`:                         of("It MUST.", "- Releases: 2.7.0 on", cases),
		`"2.7.0 to 2.15.2" does not come after what is before it`:           of("It MUST.", "- Releases: 3.2.0 on, 2.7.0 to 2.15.2", cases),
		"docs/spec/a.md:1: expected the end of this block":                  "```\nnever\n",
		"docs/spec/a.md:14: W-A-1: expected W-A-2 here: numbers are used":   of("It MUST.") + "\n### W-A-1\n",
	} {
		_, err := Parse("docs/spec/a.md", text)
		require.ErrorContains(t, err, want)
		var bad *Error
		require.ErrorAs(t, err, &bad)
	}
}

func TestLoad(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	s, err := Load(fstest.MapFS{"README.md": file("MUST, SHOULD and MAY are explained here"), "a.md": file(of("It MUST."))})
	require.NoError(t, err)
	require.Len(t, s.Statements, 1)
	require.Equal(t, "docs/spec/a.md", s.Statements[0].File)

	_, err = Load(fstest.MapFS{"a.md": file(of("It MUST.")), "b.md": file(of("It MUST."))})
	require.ErrorContains(t, err, "docs/spec/b.md:5: the area A is that of docs/spec/a.md")
	_, err = Load(fstest.MapFS{"a.md": file("### W-A\n")})
	require.ErrorContains(t, err, "docs/spec/a.md:1")
}

func FuzzParse(f *testing.F) {
	f.Add(of("It MUST."))
	f.Add(of("It MUST.", "- Releases: 2.8.2 to 2.15.2, 3.3.2 on", "- Cases: `a`,", "  `b`"))
	f.Add("### W-A-1\n- ")
	f.Add("```\n### W-A-1\n```")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse("docs/spec/a.md", text)
		var bad *Error
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("expected an *Error, got %T", err)
		}
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
