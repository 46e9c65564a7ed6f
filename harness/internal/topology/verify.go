package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Verdict is what the conformance cases came to.
type Verdict struct {
	// Level is how like Redisson dq had to be.
	Level conformance.Level
	// Unjudged is why no case was run, or empty.
	Unjudged string
	// Passed counts cases.
	Passed int
	// Failed are those that were not passed, or could not be judged.
	Failed []conformance.Result
	// Left are the ids of cases that a topology cannot carry, by the reason.
	Left map[string][]string
}

// Reasons to leave a case out.
const (
	// NoCodec is that of dq, anywhere.
	NoCodec = "a codec that dq has not"
	// NoCommand is that of a Redis before 7.0.
	NoCommand = "a command that the server has not"
	// OtherSlot is that of a Cluster: its keys are in two slots, and the server refuses the call.
	OtherSlot = "keys in two slots"
	// OtherQueue and OtherRight are those of a user with few rights: the case is of a queue that the
	// rule does not name, or the server has refused a command that is neither an offer nor a take.
	OtherQueue = "another queue than the rule's"
	OtherRight = "a call that the rule does not permit"
)

// Verify runs the cases that hold for the newest release with dq, as verify does. The error says that it could not go on.
func (t *Topology) Verify(ctx context.Context, cases []*conformance.Case, oracle *conformance.Oracle) (*Verdict, error) {
	v := &Verdict{Level: cmp.Or(t.level, conformance.Wire), Left: map[string][]string{}}
	if v.Unjudged = monitor.Unreadable(t.Product, t.Version); v.Unjudged != "" {
		return v, nil
	}
	var servers []*redis.Server
	of := map[string][]*conformance.Case{}
	for _, c := range cases {
		switch {
		case !c.HoldsFor(wire.Newest()):
			continue
		case t.restricted && !slices.Equal(c.Queues(), []string{Queue}):
			v.Left[OtherQueue] = append(v.Left[OtherQueue], c.ID)
			continue
		}
		s, err := t.nodeOf(ctx, c.Destination())
		if err != nil {
			return v, err
		}
		if of[s.Addr] == nil {
			servers = append(servers, s)
		}
		of[s.Addr] = append(of[s.Addr], c)
	}
	for _, s := range servers {
		if err := t.verifyOn(ctx, s, of[s.Addr], oracle, v); err != nil {
			return v, err
		}
	}
	return v, nil
}

// verifyOn runs the cases whose keys are on one process.
func (t *Topology) verifyOn(
	ctx context.Context, s *redis.Server, cases []*conformance.Case, oracle *conformance.Oracle, v *Verdict,
) (err error) {
	admin := redistest.Client(s) // which is there before the run, and so no part of it
	defer admin.Close()
	if err := admin.Ping(ctx).Err(); err != nil {
		return err
	}
	tested := library.JudgedBy(library.DQ{Release: wire.Newest()}, t.dial)
	defer func() { err = errors.Join(err, tested.Close()) }()
	runner, err := conformance.NewRunner(ctx, s, tested, wire.Newest())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	runner.Level = v.Level
	for _, c := range cases {
		r := runner.Judge(ctx, c, oracle)
		if err := errors.Join(ctx.Err(), runner.Stopped()); err != nil {
			return fmt.Errorf("%s and what follows it were not judged: %w", c.ID, err)
		}
		refused := false
		if t.restricted {
			if refused, err = refusals(ctx, admin); err != nil {
				return err
			}
		}
		v.add(c, r, t.older, refused)
	}
	return nil
}

// refusals reports whether the server has refused a user anything since it was last asked.
func refusals(ctx context.Context, admin goredis.UniversalClient) (bool, error) {
	entries, err := admin.ACLLog(ctx, 1).Result()
	if err != nil {
		return false, err
	}
	return len(entries) > 0, admin.ACLLogReset(ctx).Err()
}

// permitted are the calls for which the rule is made.
var permitted = []string{"dq.offer", "dq.destroy", "destroy", "q.take", "close"}

// unknown are what a server says of a call, in a script, that it has not or that has more arguments than
// it knows.
var unknown = regexp.MustCompile(`(?s)Unknown\s+Redis\s+command|Wrong\s+number\s+of\s+args\s+calling\s+Redis\s+command`)

// add counts the result of a case on a server that may be older, and that may have refused something.
func (v *Verdict) add(c *conformance.Case, r conformance.Result, older, refused bool) {
	reason := ""
	switch {
	case r.Status == conformance.Pass:
		v.Passed++
		return
	case r.Status == conformance.Skip && r.Absent != "":
		reason = NoCodec
	case r.Status == conformance.Skip:
		reason = OtherSlot
	case older && unknown.MatchString(r.Detail):
		reason = NoCommand
	case refused && slices.ContainsFunc(c.Steps, func(s *conformance.Step) bool { return s.Call != "" && !slices.Contains(permitted, s.Call) }):
		reason = OtherRight
	default:
		v.Failed = append(v.Failed, r)
		return
	}
	v.Left[reason] = append(v.Left[reason], r.ID)
}

// LeftText says how many cases were left out, by the reason.
func (v *Verdict) LeftText() string {
	var texts []string
	for _, reason := range []string{NoCodec, NoCommand, OtherSlot, OtherQueue, OtherRight} {
		if n := len(v.Left[reason]); n > 0 {
			texts = append(texts, fmt.Sprintf("%d of %s", n, reason))
		}
	}
	return strings.Join(texts, ", ")
}
