package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// Field is one named part of a configuration.
type Field struct{ Name, Value string }

// OfServer reports whether it says what the server is.
func (f Field) OfServer() bool { return f.Name == "server" || f.Name == "server_embedded" }

// Configuration is what two runs must share to be compared: all that was asked
// for, and the machine and server it ran on, but not the implementation, which
// is what a comparison is about.
func (r *Document) Configuration() []Field {
	fields := []Field{{"scenario", r.Scenario.Name}}
	for _, f := range plan.Fields {
		if f.Compared {
			fields = append(fields, Field{f.Key, f.Text(r.Scenario)})
		}
	}
	if r.Server != nil {
		fields = append(fields, Field{"server", strings.TrimSpace(r.Server.Product + " " + r.Server.Version)})
		fields = append(fields, Field{"server_embedded", strconv.FormatBool(r.Server.Embedded)})
	}
	return fields
}

// Circumstances are what two runs must share besides to be compared, but not to be
// joined: the OS, the architecture, the CPUs and GOMAXPROCS of the machine that the load came from, and where it was
// measured. Hosts that are alike in these are the same here; a label tells them apart.
func (r *Document) Circumstances() []Field {
	e := r.Environment
	var fields []Field
	if e.OS != "" {
		fields = append(fields, Field{"machine", fmt.Sprintf("%s/%s with %d CPUs, GOMAXPROCS %d", e.OS, e.Arch, e.CPUs, e.GOMAXPROCS)})
	}
	alone := "one side at a time"
	if r.Beside != nil {
		alone = fmt.Sprintf("%d sides at the same time", r.Beside.Sides)
	}
	fields = append(fields, Field{"beside", alone})
	switch r.Measured {
	case "":
	case OverProtocol:
		fields = append(fields, Field{"measured", "over the protocol"})
	default:
		fields = append(fields, Field{"measured", "beside the implementation"})
	}
	return fields
}

// DifferenceError says that two configurations are not the same, and where.
type DifferenceError struct {
	// Differences are lines "name: OLD is not NEW".
	Differences []string
}

func (e *DifferenceError) Error() string {
	return "the runs have different configurations (" + strings.Join(e.Differences, "; ") +
		"), so their figures do not tell what made the difference"
}

// Differ names the fields that both have with different values. A field that
// only one side has, as the server of a driver that needs none, is no difference.
func Differ(a, b []Field) []string {
	var differences []string
	for _, x := range a {
		for _, y := range b {
			if x.Name == y.Name && x.Value != y.Value {
				differences = append(differences, fmt.Sprintf("%s: %s is not %s", x.Name, x.Value, y.Value))
			}
		}
	}
	return differences
}

// Differences names what any of the runs has otherwise than the first of them that tells it: one that does not say
// where it was measured, or on what, switches nothing off.
type Differences struct{ first []Field }

// Of names the fields of the next run that differ, as Differ does.
func (d *Differences) Of(fields []Field) []string {
	differences := Differ(d.first, fields)
	for _, f := range fields {
		if !slices.ContainsFunc(d.first, func(first Field) bool { return first.Name == f.Name }) {
			d.first = append(d.first, f)
		}
	}
	return differences
}
