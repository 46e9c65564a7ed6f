package plan

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the tables of settings to the documents that have them")

// The table of a scenario's settings in the guide to them is that of the code.
func TestScenarioTable(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("| key | scaled | meaning |\n|---|---|---|\n")
	for _, f := range Fields {
		if f.FlagOnly {
			continue
		}
		scaled := ""
		if f.Scaled() {
			scaled = "yes"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", f.Key, scaled, strings.ReplaceAll(f.Help, "|", `\|`))
	}
	keepTable(t, "../../../scenarios/load/README.md", "settings", rows.String())
}

// The table of the kinds of faults in the guide to them is that of the code.
func TestFaultTable(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("| kind | what breaks | needs | of acknowledged messages it may lose |\n|---|---|---|---|\n")
	for _, k := range FaultKinds {
		reach := map[Reach]string{Network: "a server", Settings: "a server of our own", ServerProcess: "a process"}[k.Reach]
		var keys []string
		for _, key := range slices.Concat(k.Needs, k.May) {
			keys = append(keys, "`"+key+"`")
		}
		if len(keys) > 0 {
			reach += "; " + strings.Join(keys, ", ")
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", k.Kind, k.Help, reach, k.Loss)
	}
	keepTable(t, "../../../scenarios/fault/README.md", "faults", rows.String())
}

// keepTable compares the table between the marks of that name in a document with the
// one of the code, or with -update writes it there.
func keepTable(t *testing.T, file, name, table string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	begin, end := "<!-- "+name+": go test ./harness/plan -update -->\n", "<!-- /"+name+" -->\n"
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok, "%s: expected the line %s", file, begin)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s: expected the line %s", file, end)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+"\n"+table+"\n"+end+after), 0o644))
		return
	}
	require.Equal(t, "\n"+table+"\n", have, "%s: run 'go test ./harness/plan -update' and look at what changed", file)
}
