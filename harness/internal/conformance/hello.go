package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// canBeJudged is a *ProgramError where a program lists none of the operations that the cases call: those that call
// nothing would pass, and say next to nothing about it.
func canBeJudged(hello program.Hello, cases []*Case) error {
	needed := needs(cases)
	if len(needed) == 0 || slices.ContainsFunc(needed, hello.Can) {
		return nil
	}
	return &ProgramError{Err: fmt.Errorf("the driver cannot be judged: expected the \"capabilities\" in its answer to hello to list "+
		"operations that the cases call, such as %q, got %q", needed[0], hello.Capabilities)}
}

// misspelt tells of capabilities that no case needs, but for one letter: a case that needs the right name is skipped,
// which is easily overlooked.
func misspelt(hello program.Hello, cases []*Case) (notices []string) {
	needed := needs(cases)
	for _, listed := range hello.Capabilities {
		if slices.Contains(needed, listed) {
			continue
		}
		for _, name := range needed {
			if !hello.Can(name) && oneLetterOff(listed, name) {
				notices = append(notices, fmt.Sprintf("the driver lists %q in its answer to hello, and lacks %q, without which cases are skipped: is it a misspelling?", listed, name))
			}
		}
	}
	return notices
}

// needs are the capabilities that the steps of cases need, each once, in the order of the cases.
func needs(cases []*Case) (names []string) {
	for _, c := range cases {
		for _, s := range c.Steps {
			if name := s.capability(); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// oneLetterOff reports whether two names differ by one letter that is missing, too many, another or in the other case,
// or by two that are the other way round.
func oneLetterOff(a, b string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 ||
		len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0] ||
		strings.EqualFold(a, b)
}
