package driver

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Forms lists what Parse understands, for help texts and errors.
const Forms = "dq[:release][,faithful] | redisson:<version> | memory | redis-list | redis-zset | exec:<command line>"

// SpecError says that a --driver value can never be right.
type SpecError struct {
	Spec   string
	Reason error
}

func (e *SpecError) Error() string { return fmt.Sprintf("--driver %q: %v", e.Spec, e.Reason) }

// Unwrap returns the reason, such as a *wire.ReleaseError.
func (e *SpecError) Unwrap() error { return e.Reason }

// Parse reads a --driver value. Its error is a *SpecError.
func Parse(spec string) (Driver, error) {
	name, _, hasVersion := strings.Cut(spec, ":")
	switch {
	case name == "memory" && !hasVersion:
		return NewMemory(), nil
	case name == "redis-list" && !hasVersion:
		return RedisList{}, nil
	case name == "redis-zset" && !hasVersion:
		return RedisZSet{}, nil
	case name == "redisson" || name == "exec":
		program, err := ParseProgram(spec)
		if err != nil {
			return nil, err
		}
		return Remote{program}, nil
	case name == "dq" || strings.HasPrefix(name, "dq,"):
		d, err := parseDQ(spec)
		if err != nil {
			return nil, &SpecError{spec, err}
		}
		return d, nil
	}
	return nil, &SpecError{spec, fmt.Errorf("expected %s", Forms)}
}

// parseDQ reads dq[:release][,faithful].
func parseDQ(spec string) (DQ, error) {
	d := DQ{Release: wire.Newest()}
	head, modifier, modified := strings.Cut(spec, ",")
	if modified {
		if modifier != "faithful" {
			return DQ{}, fmt.Errorf("expected ,faithful or nothing after the release, got %q", ","+modifier)
		}
		d.Faithful = true
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
