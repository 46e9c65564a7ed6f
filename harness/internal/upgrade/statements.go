package upgrade

import (
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// statementsBetween are those that hold for one of two releases only.
func statementsBetween(from, to wire.Release) []Statement {
	all := []Statement{}
	for _, s := range spec.All().Between(from, to) {
		holds := from
		if s.Releases.Contain(to) {
			holds = to
		}
		all = append(all, Statement{spec.Cite([]*spec.Statement{s})[0], holds.String(), s.Releases.String()})
	}
	return all
}

// statementsOf are what a case shows of a release: those that do not hold for the other one, or
// all where each of them does.
func statementsOf(id string, holds, other wire.Release) []*spec.Statement {
	all := spec.All().OfCase(id, holds)
	only := slices.DeleteFunc(slices.Clone(all), func(s *spec.Statement) bool { return s.Releases.Contain(other) })
	if len(only) > 0 {
		return only
	}
	return all
}

// statementsAbout are those about a script that one of two releases sends at least.
func statementsAbout(name wire.ScriptName, from, to wire.Release) []spec.Citation {
	return spec.Cite(spec.All().Where(func(s *spec.Statement) bool {
		return slices.Contains(s.Scripts, string(name)) && (s.Releases.Contain(from) || s.Releases.Contain(to))
	}))
}

// statementsOn are what the cases of a fact show: of those that show the change, as far as they
// hold for one of the two releases only, and of those that show what a queue meets then, all.
func (f fact) statementsOn(from, to wire.Release) []spec.Citation {
	return spec.Cite(spec.All().Where(func(s *spec.Statement) bool {
		before, after := s.Releases.Contain(from), s.Releases.Contain(to)
		shows := func(patterns []string) bool {
			return slices.ContainsFunc(s.Cases, func(id string) bool { return matches(patterns, id) })
		}
		return before != after && shows(f.cases) || (before || after) && shows(f.meets)
	}))
}

// matches reports whether an id is one of the patterns, or begins as one that ends with a star.
func matches(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		start, open := strings.CutSuffix(p, "*")
		return open && strings.HasPrefix(id, start) || p == id
	})
}
