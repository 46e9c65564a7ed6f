package conformance

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// ttlSlack is how much of a time to live may have passed.
const ttlSlack = 10 * time.Second

// named are the commands on channels, sorted sets and lists.
var named = regexp.MustCompile(`^(?:(publish|subscribe)|(z\w+)|[lr]push|lrem|llen|lrange|[lr]pop)$`)

// misnamed finds a channel, a sorted set or a list whose name has the queue's in it, while the right one is never
// named. Such a name breaks a statement on names, and causes all other breaches of the case.
func (c *Case) misnamed(lines []trace.Line, own func(peer string) bool) []trace.Breach {
	n, given := c.names(), fmt.Sprint(c.queues(), c.Expect.Others)
	for _, s := range c.Steps {
		given += fmt.Sprint(s.Redis, s.With)
	}
	peer, used, wrong := "", map[string]bool{}, []trace.Line{}
	for _, l := range lines {
		if !l.Inner() {
			peer = l.Peer
		}
		if named.MatchString(l.Name()) && len(l.Args) > 1 && own(peer) {
			used[l.Args[1]] = true
			if strings.Contains(l.Args[1], c.queue()) && !strings.Contains(given, l.Args[1]) {
				wrong = append(wrong, l)
			}
		}
	}
	for _, l := range wrong {
		right := []string{n.Pending, n.Destination}
		switch kind := named.FindStringSubmatch(l.Name()); {
		case kind[1] != "":
			right = []string{n.Channel}
		case kind[2] != "":
			right = []string{n.TimeoutSet}
		}
		if !slices.ContainsFunc(right, func(name string) bool { return !used[name] }) {
			continue
		}
		statement := "W-KEY-1"
		switch {
		case c.Options["nameMapperPrefix"] != nil:
			statement = "W-KEY-5"
		case strings.Contains(c.queue(), "{"):
			statement = "W-KEY-2"
		}
		return []trace.Breach{{Statement: statement, Line: l, Text: fmt.Sprintf("%s %q in place of %q", strings.ToUpper(l.Name()), l.Args[1], right[0])}}
	}
	return nil
}

// checkKeys compares the whole database with what the case expects.
func (r *caseRun) checkKeys(ctx context.Context) ([]string, error) {
	e := &r.c.Expect
	if e.Anything != "" {
		return nil, nil
	}
	wanted := map[string][]string{
		r.names.Destination: e.Destination, r.names.Pending: e.Pending, r.names.TimeoutSet: e.Timeouts,
	}
	maps.Copy(wanted, e.Others)
	var found []string
	for cursor := ""; cursor != "0"; {
		page, next, err := redis.Page(r.control.Do(ctx, "SCAN", cmp.Or(cursor, "0")))
		if err != nil {
			return nil, &faultError{err}
		}
		found, cursor = append(found, page...), next
	}
	expected := slices.Concat(slices.Collect(maps.Values(wanted))...)
	var failures []string
	keys := slices.Compact(slices.Sorted(slices.Values(slices.Concat(found, slices.Collect(maps.Keys(wanted))))))
	keys = append(slices.DeleteFunc(keys, func(key string) bool { return key == r.names.Destination }), r.names.Destination) // last: a message that moves is met
	for _, key := range keys {
		got, err := r.content(ctx, key)
		if err != nil {
			return nil, &faultError{fmt.Errorf("reading %q: %w", key, err)}
		}
		if !slices.Equal(got, wanted[key]) {
			_, known := wanted[key]
			r.found.differs = r.found.differs || known
			r.found.strange = r.found.strange || slices.ContainsFunc(got, func(element string) bool { return !slices.Contains(expected, element) })
			failures = append(failures, fmt.Sprintf("the key %q: expected %s, got %s%s", key, elements(wanted[key]), elements(got), r.foreignLayout(wanted[key], got)))
		}
		failure, err := r.checkExpiry(ctx, key)
		if err != nil {
			return nil, &faultError{err}
		}
		if failure != "" {
			failures, r.found.differs = append(failures, fmt.Sprintf("the key %q: expected %s", key, failure)), true
		}
	}
	return failures, nil
}

// elements writes a list, a long one by its ends.
func elements(list []string) string {
	switch n := len(list); {
	case n == 0:
		return "nothing"
	case n > 12:
		return fmt.Sprintf("%d elements from %q to %q", n, list[0], list[n-1])
	}
	return fmt.Sprintf("%q", list)
}

// content returns the elements of a key as a case writes them.
func (r *caseRun) content(ctx context.Context, key string) ([]string, error) {
	elements, err := r.elements(ctx, key)
	queue := key == r.names.Pending || key == r.names.TimeoutSet
	for i, element := range elements {
		elements[i] = r.element(element, queue)
	}
	return elements, err
}

// elements returns the elements of a key as they stand: of a list or a sorted set; of another kind its name alone.
func (r *caseRun) elements(ctx context.Context, key string) ([]string, error) {
	switch kind, err := r.control.Do(ctx, "TYPE", key).Text(); {
	case err != nil || kind == "none":
		return nil, err
	case kind == "list":
		return r.control.Do(ctx, "LRANGE", key, 0, -1).StringSlice()
	case kind == "zset":
		return r.control.Do(ctx, "ZRANGE", key, 0, -1).StringSlice()
	default:
		return []string{"a " + kind}, nil
	}
}

// element writes a member as its value, where members are to be expected, and says what it is elsewhere.
func (r *caseRun) element(element string, expectMember bool) string {
	own := r.release.Layout()
	for _, layout := range []wire.Layout{own, own.Other()} {
		m, err := layout.Unpack([]byte(element))
		switch {
		case err != nil:
			continue
		case layout != own:
			return foreignPrefix + shown(string(m.Value)) + ")"
		case expectMember:
			return shown(string(m.Value))
		}
		return "member(" + shown(string(m.Value)) + ")"
	}
	if expectMember {
		return "unreadable(" + shown(element) + ")"
	}
	return shown(element)
}

// foreignPrefix begins a member of the layout that the release does not write.
const foreignPrefix = "foreign("

// foreignLayout says which layout a foreign member has, where none was expected.
func (r *caseRun) foreignLayout(wanted, got []string) string {
	is := func(element string) bool { return strings.HasPrefix(element, foreignPrefix) }
	if slices.ContainsFunc(wanted, is) || !slices.ContainsFunc(got, is) {
		return ""
	}
	own := r.release.Layout()
	return fmt.Sprintf("; what is foreign has the layout %s, Redisson %s writes %s", own.Other(), r.release, own)
}

// checkExpiry says which time to live a key should have, and has; "" if they agree.
func (r *caseRun) checkExpiry(ctx context.Context, key string) (string, error) {
	ms, err := r.control.Do(ctx, "PTTL", key).Int64()
	left, wanted := time.Duration(ms)*time.Millisecond, time.Duration(0)
	for word, d := range r.c.Expect.Expires {
		if r.key(word) == key {
			wanted = time.Duration(d)
		}
	}
	switch {
	case err != nil:
		return "", err
	case wanted == 0 && left > 0:
		return fmt.Sprintf("no time to live, it has %s", left), nil
	case wanted > 0 && (left > wanted || left < wanted-ttlSlack):
		return fmt.Sprintf("a time to live of %s, it has %s", wanted, left), nil
	}
	return "", nil
}

func (r *caseRun) checkPublished(lines []trace.Line) []string {
	if r.c.Expect.Published == nil {
		return nil
	}
	got := count(lines, func(l trace.Line) bool {
		return strings.EqualFold(l.Name(), "publish") && len(l.Args) > 1 && l.Args[1] == r.names.Channel
	})
	if got == *r.c.Expect.Published {
		return nil
	}
	return []string{fmt.Sprintf("expected %d messages on %q, %d were published", *r.c.Expect.Published, r.names.Channel, got)}
}

// callParams writes a step's arguments as the protocol wants them: typed values, and durations in milliseconds.
func callParams(with map[string]any) (map[string]any, error) {
	params := map[string]any{}
	for name, v := range with {
		switch name {
		case "value":
			v = typed(v)
		case "values":
			list, ok := v.([]any)
			if !ok {
				return nil, fmt.Errorf("values: expected a list, got %T", v)
			}
			values := make([]any, len(list))
			for i := range list {
				values[i] = typed(list[i])
			}
			v = values
		case "delay", "timeout", "ttl":
			if d, err := time.ParseDuration(fmt.Sprint(v)); err == nil && reflect.TypeOf(v).Kind() == reflect.String {
				v = d.Milliseconds()
			}
		}
		params[name] = v
	}
	return params, nil
}

// typed gives a plain YAML value its type; one with a "t" has it.
func typed(v any) any {
	if n, ok := v.(int); ok {
		v = int32(n)
	}
	if form, err := program.Typed(v); err == nil {
		return form
	}
	return v
}

// judgeResult compares what a call answered with what it must. A typed value equals a plain one of the same content,
// unless the case names the type too.
func judgeResult(want *yaml.Node, result json.RawMessage) error {
	var expected, got any
	err1 := want.Decode(&expected)
	text, err2 := json.Marshal(expected)
	err3 := json.Unmarshal(text, &expected) // the types of the answer
	err4 := json.Unmarshal([]byte(cmp.Or(string(result), "null")), &got)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return &faultError{err}
	}
	if !equalResults(expected, got) {
		return fmt.Errorf("expected the result %s, got %s", text, result)
	}
	return nil
}

func equalResults(want, got any) bool {
	if list, ok := want.([]any); ok {
		others, ok := got.([]any)
		return ok && slices.EqualFunc(list, others, equalResults)
	}
	if object, ok := got.(map[string]any); ok {
		if _, typed := want.(map[string]any); !typed {
			return reflect.DeepEqual(want, object["v"])
		}
	}
	return reflect.DeepEqual(want, got)
}

// shown writes bytes as a case does: text as it is, other bytes as hex.
func shown(b string) string {
	if utf8.ValidString(b) && strings.IndexFunc(b, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return b
	}
	return "hex:" + hex.EncodeToString([]byte(b))
}

// judge compares an answer with what the step says of it.
func (s *Step) judge(a answer) error {
	var remote *program.RemoteError
	switch {
	case errors.As(a.err, new(*faultError)), errors.As(a.err, new(*ProgramError)):
		return a.err
	case s.Anything != "":
		return nil
	case s.Error != "" && a.err == nil:
		return fmt.Errorf("expected an error that matches %q, got the result %s", s.Error, a.result)
	case s.Error != "":
		if errors.As(a.err, &remote) && regexp.MustCompile(s.Error).MatchString(remote.Error()) {
			return nil
		}
		return fmt.Errorf("expected an error that matches %q, got %w", s.Error, a.err)
	case a.err != nil:
		return fmt.Errorf("expected no error, got %w", a.err)
	case s.Returns.IsZero():
		return nil
	}
	return judgeResult(&s.Returns, a.result)
}
