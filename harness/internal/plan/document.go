package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Part is what a part of a run is told: the plan, and its role. Its JSON form is
// that of PROTOCOL.md.
type Part struct {
	RunID uint32
	Plan  Plan
	Role  Role
}

// partDocument are the fields plan and part.
type partDocument struct {
	Plan planDocument `json:"plan"`
	Part roleDocument `json:"part"`
}

type planDocument struct {
	RunID       string                   `json:"run_id"`
	Seed        seed                     `json:"seed"`
	Queues      []string                 `json:"queues"`
	Producers   Whole                    `json:"producers"`
	Consumers   Whole                    `json:"consumers"`
	PayloadSize Whole                    `json:"payload_size"`
	Poll        Whole                    `json:"poll,omitempty"`
	Work        Whole                    `json:"work,omitempty"`
	Phases      map[string]phaseDocument `json:"phases"`
	Members     []memberDocument         `json:"members"`
}

type phaseDocument struct {
	Steps   []stepDocument  `json:"steps"`
	Delay   delayDocument   `json:"delay"`
	Horizon Whole           `json:"horizon,omitempty"`
	Cancel  *cancelDocument `json:"cancel,omitempty"`
}

type stepDocument struct {
	Rate     float64 `json:"rate"`
	Duration Whole   `json:"duration"`
}

type delayDocument struct {
	Spans    [][2]Whole `json:"spans"`
	Together bool       `json:"together,omitempty"`
	Shuffled bool       `json:"shuffled,omitempty"`
}

type cancelDocument struct {
	Share float64 `json:"share"`
	After Whole   `json:"after"`
}

type memberDocument struct {
	Offers bool  `json:"offers,omitempty"`
	Takes  bool  `json:"takes,omitempty"`
	From   Whole `json:"from,omitempty"`
	To     Whole `json:"to,omitempty"`
}

type roleDocument struct {
	Member  Whole `json:"member"`
	Worker  Whole `json:"worker"`
	Workers Whole `json:"workers"`
}

// Whole is a whole number, which may also be given as a string: JSON numbers hold 53
// bits in many languages.
type Whole int64

// UnmarshalJSON reads 7 and "7".
func (w *Whole) UnmarshalJSON(data []byte) error {
	text := string(bytes.Trim(data, `"`))
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("expected a whole number, got %.40s", data)
	}
	*w = Whole(n)
	return nil
}

// seed is an unsigned number of 64 bits, written as a string.
type seed uint64

// MarshalJSON writes "7".
func (s seed) MarshalJSON() ([]byte, error) {
	return []byte(strconv.Quote(strconv.FormatUint(uint64(s), 10))), nil
}

// UnmarshalJSON reads 7 and "7".
func (s *seed) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseUint(string(bytes.Trim(data, `"`)), 10, 64)
	if err != nil {
		return fmt.Errorf("expected a whole number from 0 to 2^64-1, got %.40s", data)
	}
	*s = seed(n)
	return nil
}

// MarshalJSON writes the part's two fields.
func (p Part) MarshalJSON() ([]byte, error) {
	d := partDocument{
		Plan: planDocument{
			RunID: fmt.Sprintf("%08x", p.RunID), Seed: seed(p.Plan.Seed), Queues: p.Plan.QueueNames(),
			Producers: Whole(p.Plan.Producers), Consumers: Whole(p.Plan.Consumers), PayloadSize: Whole(p.Plan.PayloadSize),
			Poll: Whole(p.Plan.Poll), Work: Whole(p.Plan.Work), Phases: map[string]phaseDocument{},
		},
		Part: roleDocument{
			Member: Whole(p.Role.Member), Worker: Whole(p.Role.Worker.Number % max(p.Role.Worker.Count, 1)), Workers: Whole(max(p.Role.Worker.Count, 1)),
		},
	}
	d.Plan.Phases[string(Measured)] = phaseOf(p.Plan.Phase(Measured))
	if p.Plan.Warmup > 0 {
		d.Plan.Phases[string(Warmup)] = phaseOf(p.Plan.Phase(Warmup))
	}
	for _, m := range p.Plan.Members() {
		d.Plan.Members = append(d.Plan.Members, memberDocument{m.Offers, m.Takes, Whole(m.From), Whole(m.To)})
	}
	return json.Marshal(d)
}

func phaseOf(p PhasePlan) phaseDocument {
	d := phaseDocument{Horizon: Whole(p.Horizon), Delay: delayDocument{Together: p.Delay.Together, Shuffled: p.Delay.Shuffled}}
	for _, s := range p.Schedule {
		d.Steps = append(d.Steps, stepDocument{float64(s.Rate), Whole(s.Duration)})
	}
	for _, s := range p.Delay.spans() {
		d.Delay.Spans = append(d.Delay.Spans, [2]Whole{Whole(s.Min), Whole(s.Max)})
	}
	if p.Cancel.Share > 0 {
		d.Cancel = &cancelDocument{p.Cancel.Share, Whole(p.Cancel.After)}
	}
	return d
}

// UnmarshalJSON reads them, beside whatever other fields there are. The plan is
// valid; its queues are given by name, so that Queue and Queues are not set.
func (p *Part) UnmarshalJSON(data []byte) error {
	var d partDocument
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	id, err := strconv.ParseUint(d.Plan.RunID, 16, 32)
	if err != nil {
		return fmt.Errorf("run_id: expected 8 hex digits, got %.20q", d.Plan.RunID)
	}
	plan := DefaultPlan()
	plan.Seed, plan.names = uint64(d.Plan.Seed), d.Plan.Queues
	plan.Producers, plan.Consumers, plan.PayloadSize = int(d.Plan.Producers), int(d.Plan.Consumers), int(d.Plan.PayloadSize)
	plan.Poll, plan.Work, plan.Queues = time.Duration(d.Plan.Poll), time.Duration(d.Plan.Work), len(d.Plan.Queues)
	if len(d.Plan.Queues) > 0 {
		plan.Queue = d.Plan.Queues[0]
	}
	measured, ok := d.Plan.Phases[string(Measured)]
	if !ok {
		return errors.New(`phases: expected at least "m"`)
	}
	if plan.Delay, err = measured.Delay.read(); err != nil {
		return err
	}
	plan.Ramp, plan.Horizon = measured.steps(), time.Duration(measured.Horizon)
	if len(plan.Ramp) == 0 {
		return errors.New("steps: expected at least one")
	}
	plan.Rate, plan.Duration = plan.Ramp[0].Rate, plan.Schedule().Duration()
	if measured.Cancel != nil {
		plan.Cancel = Cancel{measured.Cancel.Share, time.Duration(measured.Cancel.After)}
	}
	plan.Warmup = 0
	if warmup, ok := d.Plan.Phases[string(Warmup)]; ok {
		delay, err := warmup.Delay.read()
		if err != nil {
			return err
		}
		plan.warmup = &PhasePlan{Schedule: warmup.steps(), Delay: delay}
		plan.Warmup = plan.warmup.Schedule.Duration()
	}
	for _, m := range d.Plan.Members {
		plan.Fleet = append(plan.Fleet, Member{Offers: m.Offers, Takes: m.Takes, From: time.Duration(m.From), To: time.Duration(m.To)})
	}
	role := Role{Member: int(d.Part.Member), Worker: Worker{int(d.Part.Worker), int(d.Part.Workers)}}
	if n := len(plan.Members()); role.Member < 0 || role.Member >= n {
		return fmt.Errorf("part: expected member 0 to %d, got %d", n-1, role.Member)
	}
	if w := role.Worker; w.Count < 1 || w.Number < 0 || w.Number >= w.Count {
		return fmt.Errorf("part: expected worker 0 to %d of workers, got %d", w.Count-1, w.Number)
	}
	*p = Part{RunID: uint32(id), Plan: plan, Role: role}
	return plan.Validate()
}

func (d phaseDocument) steps() []Step {
	var steps []Step
	for _, s := range d.Steps {
		steps = append(steps, Step{Rate(s.Rate), time.Duration(s.Duration)})
	}
	return steps
}

func (d delayDocument) read() (Delay, error) {
	if len(d.Spans) == 0 {
		return Delay{}, errors.New("delay: expected at least one span")
	}
	delay := Delay{Together: d.Together, Shuffled: d.Shuffled}
	for i, s := range d.Spans {
		span := Span{time.Duration(s[0]), time.Duration(s[1])}
		if i == 0 {
			delay.Min, delay.Max = span.Min, span.Max
		}
		delay.Min, delay.Max = min(delay.Min, span.Min), max(delay.Max, span.Max)
		if len(d.Spans) > 1 {
			delay.Choices = append(delay.Choices, span)
		}
	}
	return delay, delay.check()
}
