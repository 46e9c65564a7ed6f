package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Baseline maps the id of a case that an implementation is known to fail to the reason. A listed case that passes is a
// failure, so that the list stays true. So is one that fails otherwise than its reason says, if that names a statement, or
// is a cause after the word "seen:", as --write-baseline writes it.
//
//	DQ.codec/kryo5: we write JSON only
//	DQ.offer/announces-a-new-head: "issue 12, W-OFFER-3"
type Baseline map[string]string

// maxBaseline bounds a file, in bytes: a hundred times the size for all cases.
const maxBaseline = 1 << 20

// ReadBaseline reads a YAML file that maps ids of cases to reasons.
func ReadBaseline(ctx context.Context, path string, cases []*Case) (Baseline, error) {
	content, err := text.ReadFile(ctx, path, maxBaseline)
	if err != nil {
		return nil, fmt.Errorf("the baseline cannot be read: %w; to begin one, run with --write-baseline", err)
	}
	b, err := ParseBaseline(content)
	if err != nil {
		return nil, fmt.Errorf("the baseline %s: %w", path, err)
	}
	for id := range b {
		if !slices.ContainsFunc(cases, func(c *Case) bool { return c.ID == id }) {
			return nil, fmt.Errorf("the baseline %s: there is no case %q; dq-bench verify -v names them all", path, id)
		}
	}
	return b, nil
}

// ParseBaseline reads the text of a baseline.
func ParseBaseline(content []byte) (Baseline, error) {
	b := Baseline{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(&b); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("expected a line \"id: reason\" for each case: %w", err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one YAML document, found another one after it")
	}
	for id, reason := range b {
		if b[id] = strings.Join(strings.Fields(reason), " "); b[id] == "" {
			return nil, fmt.Errorf("expected a reason why %q fails, found none", id)
		}
	}
	return b, nil
}

const (
	seenPrefix = "seen: "
	otherwise  = "fails otherwise than the baseline says: "
)

var statementID = regexp.MustCompile(`\bW-[A-Z]+-\d+\b`)

// is reports whether a reason fits a failure: it names its statement or its cause. Any other reason is for people.
func (r Result) is(reason string) bool {
	cause, seen := strings.CutPrefix(reason, seenPrefix)
	if named := statementID.FindAllString(reason, -1); len(named) > 0 {
		return slices.ContainsFunc(slices.Concat(r.Broken, r.sent), func(b trace.Breach) bool { return slices.Contains(named, b.Statement) })
	}
	return !seen || kindOf(cause) == kindOf(r.CauseText())
}

// Baseline lists the failures of this run: known ones with their reason, others with their cause. Of an old list it keeps the reasons,
// and the cases that were not run.
func (r *Report) Baseline(old Baseline) Baseline {
	b := maps.Clone(old)
	if b == nil {
		b = Baseline{}
	}
	for _, c := range r.Cases {
		if c.Status != Skip {
			delete(b, c.ID)
		}
		switch {
		case c.Status == FailedAsExpected && c.baseline != "":
			b[c.ID] = c.baseline
		case c.Status == Fail && !c.listed:
			c.Cause = strings.TrimPrefix(c.CauseText(), otherwise)
			if reason, listed := old[c.ID]; listed && c.is(reason) {
				b[c.ID] = reason
			} else {
				b[c.ID] = seenPrefix + c.Cause
			}
		}
	}
	return b
}

// Text is the baseline as a file, sorted by id.
func (b Baseline) Text() []byte {
	if len(b) == 0 {
		return []byte("# No case fails.\n")
	}
	text, _ := yaml.Marshal(map[string]string(b)) // which can be encoded
	return text
}
