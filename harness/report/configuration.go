package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// field is one named part of a configuration.
type field struct{ name, value string }

// configuration is what two runs must share to be compared: all that was asked
// for, and the machine and server it ran on, but not the implementation, which
// is what a comparison is about.
func (r *Run) configuration() []field {
	s := r.Scenario
	fields := []field{
		{"scenario", s.Name},
		{"producers", strconv.Itoa(s.Producers)},
		{"consumers", strconv.Itoa(s.Consumers)},
		{"rate", trimFloat(s.Rate) + "/s"},
		{"duration", s.Duration},
		{"delay", s.Delay},
		{"payload_size", strconv.Itoa(s.PayloadSize)},
		{"warmup", s.Warmup},
		{"ramp", s.Ramp},
		{"horizon", s.Horizon},
		{"queues", strconv.Itoa(s.Queues)},
		{"poll", s.Poll},
		{"work", s.Work},
		{"cancel", s.Cancel},
	}
	if r.Server != nil {
		fields = append(fields, field{"server", strings.TrimSpace(r.Server.Product + " " + r.Server.Version)})
		fields = append(fields, field{"server_embedded", strconv.FormatBool(r.Server.Embedded)})
	}
	return fields
}

// circumstances are what two runs must share besides to be compared, but not to be
// joined: the machine that the load came from, and where it was measured.
func (r *Run) circumstances() []field {
	e := r.Environment
	var fields []field
	if e.OS != "" {
		fields = append(fields, field{"machine", fmt.Sprintf("%s/%s with %d CPUs, GOMAXPROCS %d", e.OS, e.Arch, e.CPUs, e.GOMAXPROCS)})
	}
	if r.Measured != "" {
		fields = append(fields, field{"measured", string(r.Measured)})
	}
	return fields
}

// unfit says why a run can be compared with nothing; empty if it can.
func (r *Run) unfit() string {
	name := "run " + r.RunID + " of " + r.Started.Format(time.RFC3339)
	switch {
	case r.Interrupted:
		return name + ": it was interrupted"
	case !r.valid():
		return name + ": it is invalid: " + strings.Join(r.Validity.Reasons, "; ")
	case r.Worker != nil:
		return name + ": it is that of one of several workers; merge them first"
	}
	return ""
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

// differ names the fields that both have with different values. A field that
// only one side has, as the server of a driver that needs none, is no difference.
func differ(a, b []field) []string {
	var differences []string
	for _, x := range a {
		for _, y := range b {
			if x.name == y.name && x.value != y.value {
				differences = append(differences, fmt.Sprintf("%s: %s is not %s", x.name, x.value, y.value))
			}
		}
	}
	return differences
}
