package library

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
)

// Names reports whether a --driver value names the library.
func Names(spec string) bool {
	name, _, _ := strings.Cut(spec, ":")
	return name == "dq" || strings.HasPrefix(name, "dq,")
}

// Parse reads the --driver value dq[:release][,faithful]. Its error is a
// *driver.SpecError.
func Parse(spec string) (DQ, error) {
	d, err := parse(spec)
	if err != nil {
		return DQ{}, &driver.SpecError{Spec: spec, Reason: err}
	}
	return d, nil
}

func parse(spec string) (DQ, error) {
	d := DQ{Release: wire.Newest()}
	head, modifier, modified := strings.Cut(spec, ",")
	if modified {
		switch modifier {
		case "faithful":
			d.Faithful = true
		default:
			return DQ{}, fmt.Errorf("expected ,faithful or nothing after the release, got %q", ","+modifier)
		}
	}
	if _, release, ok := strings.Cut(head, ":"); ok {
		r, err := wire.LookupRelease(release)
		if err != nil {
			return DQ{}, err
		}
		d.Release = r
	}
	return d, nil
}
