// Package spec answers: which driver does a --driver value name?
package spec

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/baseline"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Forms lists what Parse understands, for help texts and errors.
const Forms = "dq[:release][,faithful] | redisson:<version> | memory | redis-list | redis-zset | exec:<command line>"

// names are what Forms begin with.
var names = []string{"dq", "redisson", "memory", "redis-list", "redis-zset", "exec"}

// Parse reads a --driver value. Nothing is started; the error is a
// *driver.SpecError.
func Parse(spec string) (driver.Driver, error) {
	name, _, _ := strings.Cut(spec, ":")
	switch {
	case spec == "memory":
		return baseline.NewMemory(), nil
	case spec == "redis-list":
		return baseline.List{}, nil
	case spec == "redis-zset":
		return baseline.ZSet{}, nil
	case library.Names(spec):
		return library.Parse(spec)
	case name == "redisson" || name == "exec":
		return program.Parse(spec)
	}
	return nil, &driver.SpecError{Spec: spec, Reason: fmt.Errorf("expected %s%s", Forms, text.DidYouMean(name, names))}
}
