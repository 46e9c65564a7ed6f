package run

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// Field is one named part of a configuration.
type Field struct{ Name, Value string }

// OfServer reports whether it describes the server.
func (f Field) OfServer() bool { return f.Name == "server" || f.Name == "server_embedded" }

// Configuration is the part that two runs must share to be compared: the plan, and the server, machine and surroundings
// that it ran in, but not the implementation, which a comparison is about. Machines of one size are the same here; a
// label distinguishes them.
func (r *Document) Configuration() []Field {
	fields := []Field{{"scenario", r.Scenario.Name}}
	for _, f := range plan.Fields {
		if f.Compared {
			fields = append(fields, Field{f.Key, f.Text(r.Scenario)})
		}
	}
	if s := r.Server; s != nil {
		fields = append(fields, Field{"server", strings.TrimSpace(s.Product + " " + s.Version)}, Field{"server_embedded", strconv.FormatBool(s.Embedded)})
	}
	if e := r.Environment; e.OS != "" {
		fields = append(fields, Field{"machine", fmt.Sprintf("%s/%s with %d CPUs, GOMAXPROCS %d", e.OS, e.Arch, e.CPUs, e.GOMAXPROCS)})
	}
	alone := "one side at a time"
	if r.Beside != nil {
		alone = fmt.Sprintf("%d sides at the same time", r.Beside.Sides)
	}
	return append(fields, Field{"beside", alone})
}

// DifferenceError says that two configurations differ, and in which fields.
type DifferenceError struct {
	// Differences are lines "name: OLD is not NEW".
	Differences []string
}

func (e *DifferenceError) Error() string {
	return "the runs have different configurations (" + strings.Join(e.Differences, "; ") +
		"), so the cause of a difference is unknown"
}

// Differences names fields in which a run differs from the first run that has the field: a run without the place
// or the machine of its measurement still counts.
type Differences map[string]string

// Of names the fields of the next run that differ.
func (d Differences) Of(fields []Field) (differences []string) {
	for _, f := range fields {
		if was, told := d[f.Name]; !told {
			d[f.Name] = f.Value
		} else if was != f.Value {
			differences = append(differences, fmt.Sprintf("%s: %s is not %s", f.Name, was, f.Value))
		}
	}
	return differences
}
