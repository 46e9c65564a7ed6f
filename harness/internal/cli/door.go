package cli

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
)

// doorText has the texts of each command and of each flag, in the order of help and docs/reference.md.
//
//go:embed door.txt
var doorText string

// page has the texts of one command.
type page struct{ group, name, use, short, long, examples string }

// flagRow describes one flag. A flag means the same in each command that has it.
type flagRow struct{ name, short, arg, group, help string }

var pages, flagTable = readDoor()

// sharedServer is the promise of verify, record and replay for a shared server.
const sharedServer = `An external server must hold no keys and no cached scripts, and have no other client. If another client comes,
the run stops with exit code 1 and deletes nothing further. The user needs all keys and channels, MONITOR,
SCRIPT FLUSH, MULTI, DEL and SCAN.`

// readDoor reads the text: a group, which is a line "= Group", has blocks, which begin with a line "== name". The last group
// is of flags.
func readDoor() (pages []page, flags []flagRow) {
	filled := strings.NewReplacer("{shared}", sharedServer, "{runs}", fmt.Sprint(compare.MinRuns), "{pairs}", fmt.Sprint(compare.MinPairs)).Replace(doorText)
	for _, part := range strings.Split("\n"+filled, "\n= ")[1:] {
		group, blocks, _ := strings.Cut(part, "\n")
		for _, block := range strings.Split(blocks, "\n== ")[1:] {
			name, body, _ := strings.Cut(block, "\n")
			if group == "Flags" {
				for _, m := range flagLine.FindAllStringSubmatch(body, -1) {
					flags = append(flags, flagRow{name: m[1], short: m[2], arg: m[3], group: name, help: m[4]})
				}
				continue
			}
			body, examples, _ := strings.Cut(body, "\nExamples:\n")
			head, long, _ := strings.Cut(body, "\n\n")
			use, short, _ := strings.Cut(strings.TrimSpace(head), "\n")
			pages = append(pages, page{group, name, use, short, strings.TrimSpace(long), strings.TrimRight(examples, "\n")})
		}
	}
	return pages, flags
}

// flagLine is a line such as "--file -f NAME    help".
var flagLine = regexp.MustCompile(`(?m)^--(\S+)(?: -(\w))?(?: (\S+))? {2,}(.+)$`)

// rowOf returns the row of a flag.
func rowOf(name string) (flagRow, bool) {
	if i := slices.IndexFunc(flagTable, func(row flagRow) bool { return row.name == name }); i >= 0 {
		return flagTable[i], true
	}
	return flagRow{}, false
}
