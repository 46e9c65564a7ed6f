package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Limits of a plan.
const (
	maxProducers = 1 << 16
	maxQueues    = 1 << 14
	maxPayload   = 16 << 20
	// maxMessages takes 1.1 GB of the collector.
	maxMessages = 100_000_000
)

// Validate refuses a plan that can never be right. Its error is wrong usage.
func (p Plan) Validate() error {
	refuse := func(key, expected string, got any) error {
		return fmt.Errorf("%s: expected %s, got %v", key, expected, got)
	}
	for _, f := range Fields {
		if f.of == nil {
			continue
		}
		key := strings.ReplaceAll(f.Key, "_", " ")
		switch v := reflect.Indirect(reflect.ValueOf(f.of(&p))); {
		case f.most > 0 && (v.Int() < f.lowest || v.Int() > f.most):
			return refuse(key, fmt.Sprintf("%d to %d", f.lowest, f.most), v.Int())
		case v.Type() == reflect.TypeFor[time.Duration]() && v.Int() < 0:
			return refuse(key, "0s or more", v)
		}
	}
	switch {
	case p.Warmup < 0:
		return refuse("warmup", "0s or more", p.Warmup)
	case p.Cancel.After < 0:
		return refuse("cancel", "0s or more", p.Cancel.After)
	case p.DrainTimeout <= 0:
		return refuse("drain timeout", "more than 0, such as 10s", p.DrainTimeout)
	case p.Consumers < p.Queues:
		return refuse("consumers", fmt.Sprintf("at least one for each of the %d queues", p.Queues), p.Consumers)
	case p.Queue == "":
		return refuse("queue", "a name", "an empty one")
	case !(p.Cancel.Share >= 0 && p.Cancel.Share <= 1):
		return refuse("cancel", "a share from 0 to 1", p.Cancel.Share)
	}
	if err := p.Schedule().check(); err != nil {
		return err
	}
	if p.Warmup > 0 {
		if err := p.Phase(Warmup).Schedule().check(); err != nil {
			return err
		}
	}
	if err := p.Delay.check(); err != nil {
		return refused("delay", err, p.Delay.String())
	}
	if err := p.checkFleet(); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	if err := p.checkFaults(); err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	return nil
}

// refused is the error for a text: the expected form, the text, and the remedy, if the error has one behind a semicolon.
func refused(key string, err error, text string) error {
	expected, remedy, ok := strings.Cut(err.Error(), "; ")
	if ok {
		remedy = "; " + remedy
	}
	return fmt.Errorf("%s: %s, got %q%s", key, expected, text, remedy)
}

// checkFleet makes sure that a member offers and one takes at the start, which is when the warm-up runs, and after the last
// change.
func (p Plan) checkFleet() error {
	for i, m := range p.Members() {
		switch {
		case m.From < 0 || m.To < 0 || (m.To > 0 && m.To <= m.From):
			return fmt.Errorf("expected member %d to begin before it ends, got %s to %s", i+1, m.From, m.To)
		case m.Kill && m.To == 0:
			return fmt.Errorf("expected a to for member %d, which is when it is killed", i+1)
		case m.Kill && p.Cancel.Share > 0:
			return fmt.Errorf("expected no cancel with member %d, which is killed: its cancellations would be unknown", i+1)
		}
	}
	for _, has := range []func(Member) bool{
		func(m Member) bool { return m.Offers && m.From == 0 }, func(m Member) bool { return m.Takes && m.From == 0 },
		func(m Member) bool { return m.Offers && m.To == 0 }, func(m Member) bool { return m.Takes && m.To == 0 },
	} {
		if !slices.ContainsFunc(p.Members(), has) {
			return errors.New("expected a member that offers and one that takes, at the beginning and to the end")
		}
	}
	return nil
}
