package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Key is a key that the replay left behind, before it was removed.
type Key struct {
	DB   int    `json:"db"`
	Name string `json:"name"`
	// Type is what TYPE answers.
	Type string `json:"type"`
	// Length is the number of elements of a list or sorted set; 0 for others.
	Length int `json:"length"`

	elements []string
}

// Channel is a channel with the subscribers it had at the end.
type Channel struct {
	Name        string `json:"name"`
	Subscribers int64  `json:"subscribers"`
}

// State is what the server held at the end.
type State struct {
	Keys     []Key
	Channels []Channel
}

// readState reads every key and channel of the recording; of an own server also
// the names of all other keys, which should not be there.
func (r *run) readState() (*State, error) {
	s := &State{}
	err := r.eachKey(func(k trace.Key) error {
		key, err := r.readKey(k)
		if err == nil && key.Type != "none" {
			s.Keys = append(s.Keys, key)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.target.Own {
		if err := r.readOthers(s); err != nil {
			return nil, err
		}
	}
	for _, channel := range r.plan.channels {
		n, err := r.subscribers(channel)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			s.Channels = append(s.Channels, Channel{channel, n})
		}
	}
	return s, nil
}

func (r *run) readKey(k trace.Key) (Key, error) {
	key := Key{DB: k.DB, Name: k.Name}
	reply, err := r.control.do("TYPE", k.Name)
	if err != nil {
		return key, err
	}
	key.Type = fmt.Sprint(reply)
	switch key.Type {
	case "list":
		key.elements, err = texts(r.control.do("LRANGE", k.Name, "0", "-1"))
		key.Length = len(key.elements)
	case "zset":
		key.elements, err = texts(r.control.do("ZRANGE", k.Name, "0", "-1", "WITHSCORES"))
		key.Length = len(key.elements) / 2
	}
	return key, err
}

// readOthers adds the keys of an own server that the recording does not name.
func (r *run) readOthers(s *State) error {
	dbs := make(map[int]bool)
	for _, k := range r.plan.keys {
		dbs[k.DB] = true
	}
	for _, db := range slices.Sorted(maps.Keys(dbs)) {
		if _, err := r.control.do("SELECT", strconv.Itoa(db)); err != nil {
			return err
		}
		names, err := texts(r.control.do("KEYS", "*"))
		if err != nil {
			return err
		}
		for _, name := range names {
			if !r.plan.seen[trace.Key{DB: db, Name: name}] {
				s.Keys = append(s.Keys, Key{DB: db, Name: name, Type: "unexpected"})
			}
		}
	}
	return nil
}

// compareState compares the server's keys and subscriptions with the model's.
func (r *run) compareState(s *State) *Divergence {
	found := make(map[trace.Key]Key)
	for _, k := range s.Keys {
		found[trace.Key{DB: k.DB, Name: k.Name}] = k
		if k.Type == "unexpected" {
			return stateDivergence("no key "+quoted(k.Name), "it exists")
		}
	}
	for _, k := range r.plan.keys {
		if command, unknown := r.model.Unknown[k]; unknown {
			r.notes = append(r.notes, fmt.Sprintf("the content of %s is not compared: what %s does is not modelled", quoted(k.Name), command))
			continue
		}
		want, got := describe(k.Name, r.model.Values[k]), found[k].describe(k.Name)
		if want != got {
			return stateDivergence(want, got)
		}
	}
	for _, channel := range r.plan.channels {
		want, got := int64(len(r.model.Subscribers[channel])), int64(0)
		for _, c := range s.Channels {
			if c.Name == channel {
				got = c.Subscribers
			}
		}
		if want != got {
			return stateDivergence(fmt.Sprintf("%d subscribers of %s", want, quoted(channel)), fmt.Sprint(got))
		}
	}
	return nil
}

func stateDivergence(want, got string) *Divergence {
	return &Divergence{
		Kind: "state", Recorded: want, Seen: got,
		Reason: "after the last command the server does not hold what the recorded commands lead to",
		Window: fmt.Sprintf("recorded: %s\nseen:     %s\n", want, got),
	}
}

// describe writes type and whole content of a key in one form for both sides.
func describe(name string, v *trace.Value) string {
	switch {
	case v == nil:
		return Key{}.describe(name)
	case v.Scores == nil:
		return Key{Type: "list", elements: v.List}.describe(name)
	}
	members := v.Members()
	var elements []string
	for _, m := range members {
		elements = append(elements, m, strconv.FormatFloat(v.Scores[m], 'f', -1, 64))
	}
	return Key{Type: "zset", elements: elements}.describe(name)
}

func (k Key) describe(name string) string {
	switch k.Type {
	case "", "none":
		return "no key " + quoted(name)
	case "zset":
		elements := slices.Clone(k.elements)
		for i := 1; i < len(elements); i += 2 {
			if score, err := strconv.ParseFloat(elements[i], 64); err == nil {
				elements[i] = strconv.FormatFloat(score, 'f', -1, 64)
			}
		}
		k.elements = elements
	}
	var b []byte
	for _, e := range k.elements {
		b = monitor.AppendQuoted(append(b, ' '), e)
	}
	return fmt.Sprintf("%s %s:%s", k.Type, quoted(name), b)
}

// quoted returns a name as MONITOR prints it.
func quoted(name string) string { return string(monitor.AppendQuoted(nil, name)) }
