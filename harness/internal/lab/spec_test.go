package lab

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
)

// generated are the files below docs/spec that follow from the catalogue of scripts and from the recordings. Each
// function gets the present text, of which a page of Markdown keeps all but its table.
var generated = map[string]func(t *testing.T, present string) string{
	"scripts.md": withCatalogue,
	"changes.md": func(t *testing.T, present string) string {
		t.Helper()
		text, err := withChanges(present)
		require.NoError(t, err)
		return text
	},
	"vectors/scripts.json":   whole(scriptVectors, "name"),
	"vectors/names.json":     whole(nameVectors, "destination_queue"),
	"vectors/members.json":   whole(memberVectors, "layout"),
	"vectors/exchanges.json": whole(exchangeVectors, "release", "us"),
}

// Each generated file of docs/spec is up to date; -update writes it.
func TestSpec(t *testing.T) {
	for name, content := range generated {
		file := filepath.Join("../../../docs/spec", filepath.FromSlash(name))
		present := must(os.ReadFile(file))
		want := content(t, string(present))
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
			continue
		}
		require.Equal(t, want, string(present), "docs/spec/%s is old: make spec", name)
	}
}

// The table of changes has a row for each release at which a statement begins or ends, and no other.
func TestSpecChangesAreComplete(t *testing.T) {
	text := must(os.ReadFile("../../../docs/spec/changes.md"))
	_, err := withChanges(regexp.MustCompile(`(?m)^\|3\.42\.0\|.*\n`).ReplaceAllString(string(text), ""))
	require.ErrorContains(t, err, "expected a row for 3.42.0, at which W-STOP-3")
	_, err = withChanges(regexp.MustCompile(`(?m)^\|3\.42\.0\|`).ReplaceAllString(string(text), "|3.43.0|"))
	require.ErrorContains(t, err, "no statement begins or ends at 3.43.0")
}

// whole makes a JSON file of a value. Each object whose first field is one of these begins a line, so that a diff is short.
func whole[T any](of func(*testing.T) T, first ...string) func(*testing.T, string) string {
	return func(t *testing.T, _ string) string {
		t.Helper()
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(of(t)))
		text := out.String()
		for _, field := range first {
			// A quote within a string is escaped, so that the pattern matches only between values.
			text = regexp.MustCompile(`\{"`+field+`":`).ReplaceAllString(text, "\n$0")
		}
		return text
	}
}

// changesHead begins the table of changes.md. Its rows say in words what changed; the statements
// in the last column follow from the releases of each.
const changesHead = "|3.x|2.x|change|statements|\n|-|-|-|-|\n"

// withChanges writes the last column of the table in changes.md. Each release at which a statement begins or ends has a row.
func withChanges(present string) (string, error) {
	before, rest, ok := strings.Cut(present, changesHead)
	if !ok {
		return "", fmt.Errorf("changes.md: expected a table that begins with %q", changesHead)
	}
	rows, after, _ := strings.Cut(rest, "\n\n")
	left := boundaries()
	text := before + changesHead
	for _, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		cells := strings.Split(row, "|")
		if len(cells) != 6 {
			return "", fmt.Errorf("changes.md: expected four columns, got %q", row)
		}
		newer, older := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		statements := slices.Concat(left[newer], left[older])
		if len(statements) == 0 {
			return "", fmt.Errorf("no statement begins or ends at %s: %q", newer, row)
		}
		delete(left, newer)
		delete(left, older)
		text += fmt.Sprintf("|%s|%s|%s|%s|\n", cells[1], cells[2], cells[3], signed(statements))
	}
	for release, changes := range left {
		return "", fmt.Errorf("expected a row for %s, at which %s changes", release, changes[0].ID)
	}
	if after != "" {
		text += "\n" + after
	}
	return text, nil
}

// change is a statement that begins to hold, or ends.
type change struct {
	spec.Statement
	begins bool
}

// boundaries are the changes by the release that has them. The first releases of the two lines change nothing.
func boundaries() map[string][]change {
	all := map[string][]change{}
	releases := wire.Releases()
	for i, r := range releases[1:] {
		if previous := releases[i]; previous.Major == 2 == (r.Major == 2) {
			for _, s := range spec.All().Where(func(s spec.Statement) bool { return s.Releases.Contain(previous) != s.Releases.Contain(r) }) {
				all[r.String()] = append(all[r.String()], change{s, s.Releases.Contain(r)})
			}
		}
	}
	return all
}

// signed links statements, those that begin first, each once.
func signed(changes []change) string {
	var links []string
	for _, begins := range []bool{true, false} {
		for _, c := range changes {
			link := map[bool]string{true: "+", false: "−"}[begins] + linkTo(c.Statement)
			if c.begins == begins && !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
	}
	return strings.Join(links, ", ")
}

// scriptVector is a text of the catalogue.
type scriptVector struct {
	Name     string `json:"name"`
	Variant  string `json:"variant"`
	Object   string `json:"object"`
	Method   string `json:"method"`
	Releases string `json:"releases"`
	SHA1     string `json:"sha1"`
	// Keys and Args name KEYS and ARGV in order; a name that ends with "..." stands for any number.
	Keys []string `json:"keys"`
	Args []string `json:"args"`
	// Reply is empty for a script that always fails.
	Reply        string   `json:"reply"`
	Cost         string   `json:"cost"`
	Statements   []string `json:"statements"`
	RecordedFrom string   `json:"recorded_from"`
	Body         string   `json:"body"`
}

func scriptVectors(t *testing.T) (all []scriptVector) {
	t.Helper()
	for _, s := range wire.Scripts() {
		keys, _ := keysOf(t, s)
		all = append(all, scriptVector{
			Name: string(s.Name), Variant: s.Variant, Object: s.Object, Method: s.Method, Releases: rangesOf(s.SentBy),
			SHA1: s.SHA1, Keys: keys, Args: argsOf(s), Reply: s.Reply, Cost: s.Cost,
			Statements: statementsOf(s), RecordedFrom: s.RecordedFrom, Body: s.Body,
		})
	}
	return all
}

// keyNames map the catalogue's words for a key to the specification's name and letter. An entry is not a prefix of a later one.
var keyNames = []struct{ catalogue, name, letter string }{
	{"redisson_delay_queue_timeout:{<dest>}", "timeout set", "T"},
	{"redisson_delay_queue:{<dest>}", "pending list", "Q"},
	{"redisson_delay_queue_channel:{<dest>}", "channel", "C"},
	{"redisson_delay_queue_timeout:{<newName>}", "timeout set of the new name", "T of the new name"},
	{"<newName> (raw! not redisson_delay_queue:{<newName>})", "new name", "the new name"},
	{"<other queue name, NOT name-mapped>", "target", "the target"},
	{"<dest>", "destination queue", "D"},
}

func keysOf(t *testing.T, s wire.Script) (names, letters []string) {
	t.Helper()
next:
	for rest := s.Keys; rest != ""; {
		for _, k := range keyNames {
			if after, ok := strings.CutPrefix(rest, k.catalogue); ok {
				names, letters, rest = append(names, k.name), append(letters, k.letter), strings.TrimPrefix(after, " ")
				continue next
			}
		}
		t.Fatalf("%s: expected a key of keyNames, got %q", s.Variant, rest)
	}
	return names, letters
}

// argsOf names ARGV as the catalogue does, without its angle brackets.
func argsOf(s wire.Script) []string {
	args := []string{}
	for _, arg := range strings.FieldsFunc(s.Args, func(r rune) bool { return r == '|' }) {
		args = append(args, strings.NewReplacer("<", "", ">", "").Replace(strings.TrimSpace(arg)))
	}
	return args
}

// statementsOf are those about a script that hold for a release which sends this text.
func statementsOf(s wire.Script) []string {
	ids := []string{}
	for _, one := range spec.All() {
		sent := func(r wire.Release) bool { return s.SentBy(r) && one.Releases.Contain(r) }
		if slices.Contains(one.Scripts, string(s.Name)) && slices.ContainsFunc(wire.Releases(), sent) {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// withCatalogue replaces the catalogue's table in scripts.md.
func withCatalogue(t *testing.T, present string) string {
	t.Helper()
	const begin, end = "<!-- catalogue -->\n", "<!-- end of the catalogue -->"
	before, rest, begins := strings.Cut(present, begin)
	_, after, ends := strings.Cut(rest, end)
	require.True(t, begins && ends, "scripts.md: expected the lines %q and %q", begin, end)
	table := "\n|script, and the first 3.x release of each text|KEYS|ARGV|reply|cost|statements|\n|-|-|-|-|-|-|\n"
	texts := wire.Scripts()
	for len(texts) > 0 {
		n := 1
		for n < len(texts) && texts[n].Name == texts[0].Name {
			n++
		}
		last, links, ids := texts[n-1], []string{}, []string{}
		for _, s := range texts[:n] {
			links = append(links, fmt.Sprintf("[%s](../../dq/wire/scripts/%s)", firstOf3(s), s.File))
			ids = append(ids, statementsOf(s)...)
		}
		_, letters := keysOf(t, last)
		table += fmt.Sprintf("|`%s` %s|%s|%s|%s|%s|%s|\n", last.Name, strings.Join(links, " "), strings.Join(letters, ", "),
			strings.Join(argsOf(last), "; "), cmp.Or(strings.ReplaceAll(last.Reply, " | ", " or "), "it fails"), last.Cost, linked(ids))
		texts = texts[n:]
	}
	return before + begin + table + "\n" + end + after
}

// firstOf3 is the first 3.x release that sends a text, as a word.
func firstOf3(s wire.Script) string {
	for _, r := range wire.Releases() {
		if r.Major > 2 && s.SentBy(r) {
			return r.String()
		}
	}
	return rangesOf(s.SentBy)
}

// linked makes links of ids, from a page of the specification.
func linked(ids []string) string {
	var links []string
	for _, one := range spec.All().Where(func(s spec.Statement) bool { return slices.Contains(ids, s.ID) }) {
		links = append(links, linkTo(one))
	}
	return strings.Join(links, ", ")
}

func linkTo(s spec.Statement) string {
	return fmt.Sprintf("[%s](%s)", s.ID, strings.TrimPrefix(s.Link, spec.Dir+"/"))
}

// rangesOf says which releases something holds for, as the statements do. A range that ends at
// the newest release known is open: the next one is not expected to differ.
func rangesOf(holds func(wire.Release) bool) string {
	var parts []string
	all := wire.Releases()
	for i := 0; i < len(all); i++ {
		first := all[i]
		if !holds(first) {
			continue
		}
		for i+1 < len(all) && holds(all[i+1]) && (all[i+1].Major == 2) == (first.Major == 2) {
			i++
		}
		switch last := all[i]; last {
		case wire.Newest():
			parts = append(parts, first.String()+" on")
		case first:
			parts = append(parts, first.String())
		default:
			parts = append(parts, first.String()+" to "+last.String())
		}
	}
	return strings.Join(parts, ", ")
}

// redisson reads the recording of a release that holds a case. Its path is what dq-bench takes for it.
func redisson(release, id string) *trace.Recording {
	section, _, _ := strings.Cut(id, "/")
	return must(trace.Read(recordings.Redisson(release)[section], "recorded:"+release))
}

// offersIn calls f with each offer of a recording that the server knew, and its case.
func offersIn(recording *trace.Recording, f func(call trace.Call, id string)) {
	for _, c := range recording.Cases() {
		for _, call := range trace.Group(c.Lines) {
			if call.Offer != nil && len(call.Inner) > 0 {
				f(call, c.ID)
			}
		}
	}
}

// bytesVector is a string of any bytes: a JSON string where they are UTF-8, else an object with their hexadecimal digits.
type bytesVector string

// MarshalJSON writes one of the two forms.
func (b bytesVector) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(b)) {
		return json.Marshal(string(b))
	}
	return json.Marshal(map[string]string{"hex": fmt.Sprintf("%x", string(b))})
}

// memberVector is a member as an offer of a real Redisson made it. Bytes are in hexadecimal.
type memberVector struct {
	Layout   string `json:"layout"`
	Releases string `json:"releases"`
	// LengthBytes is the size of the length field: 8, or 4 on a Redis for Windows.
	LengthBytes int `json:"length_bytes"`
	// Random is the argument of a dLc0 offer that makes the id, in decimal.
	Random string `json:"random,omitempty"`
	ID     string `json:"id"`
	Value  string `json:"value"`
	Member string `json:"member"`
	// Due is the score, in Unix ms.
	Due      int64  `json:"due"`
	Recorded string `json:"recorded"`
	Case     string `json:"case,omitempty"`
}

// memberSources are the recordings whose offers are taken: of both layouts, with text, JSON and binary values, and of a Redis for Windows.
func memberSources(t *testing.T) (all []*trace.Recording) {
	t.Helper()
	for _, of := range [][2]string{{"2.9.3", "DQ.offer"}, {"3.21.0", "DQ.offer"}, {"3.21.0", "DQ.codec"}, {"3.21.1", "DQ.offer"}, {"4.7.0", "DQ.offer"}, {"4.7.0", "DQ.codec"}} {
		all = append(all, redisson(of[0], of[1]))
	}
	const file = "documents/002-zlyx.monitor"
	document, err := trace.Read(must(recordings.Files.ReadFile(file)), "recordings/"+file)
	require.NoError(t, err)
	return append(all, document)
}

func memberVectors(t *testing.T) (all []memberVector) {
	t.Helper()
	for _, recording := range memberSources(t) {
		offersIn(recording, func(call trace.Call, id string) {
			v := memberOf(t, call)
			v.Recorded, v.Case = recording.Path, id
			all = append(all, v)
		})
	}
	return all
}

// memberOf reads an offer, and checks that the server packed what dq packs.
func memberOf(t *testing.T, call trace.Call) memberVector {
	t.Helper()
	zadd := call.Inner[0]
	require.True(t, zadd.Name() == "zadd" && len(zadd.Args) == 4, "expected the offer to begin with ZADD of one member, got %q", zadd.Args)
	packed := zadd.Args[3]
	m, err := call.Offer.Layout.UnpackAny([]byte(packed))
	require.NoError(t, err)
	v := memberVector{
		Layout: m.Layout.String(), LengthBytes: m.LengthSize, ID: hex.EncodeToString(m.ID[:]), Value: hex.EncodeToString(m.Value),
		Member: hex.EncodeToString([]byte(packed)), Due: call.Offer.Due,
		Releases: rangesOf(func(r wire.Release) bool { return r.Layout() == m.Layout }),
	}
	want := wire.Member{Layout: call.Offer.Layout, LengthSize: m.LengthSize, Value: []byte(call.Offer.Value)}
	switch want.Layout {
	case wire.LayoutDLc0:
		v.Random, want.ID = call.Offer.Random, wire.DoubleID(must(strconv.ParseInt(call.Offer.Random, 10, 64)))
	default:
		copy(want.ID[:], call.Offer.Random)
	}
	require.Equal(t, string(want.Bytes()), packed, "line %d", call.Number)
	return v
}

// nameVector is the names of one queue, as a real Redisson sent them.
type nameVector struct {
	Destination string `json:"destination_queue"`
	TimeoutSet  string `json:"timeout_set"`
	Pending     string `json:"pending_list"`
	Channel     string `json:"channel"`
	// Slots are of a Redis Cluster, in the order of the names above. A script works only where they are all the same.
	Slots    [4]int `json:"slots"`
	Recorded string `json:"recorded"`
	Case     string `json:"case"`
}

func nameVectors(t *testing.T) (all []nameVector) {
	t.Helper()
	recording := redisson("4.7.0", "DQ.names/")
	offersIn(recording, func(call trace.Call, id string) {
		n := call.Offer.Names
		all = append(all, nameVector{
			n.Destination, n.TimeoutSet, n.Pending, n.Channel,
			[4]int{wire.Slot(n.Destination), wire.Slot(n.TimeoutSet), wire.Slot(n.Pending), wire.Slot(n.Channel)},
			recording.Path, id,
		})
	})
	return all
}

// exchangeVector is everything that a server saw in one case of a real Redisson.
type exchangeVector struct {
	Release  string          `json:"release"`
	Case     string          `json:"case"`
	Recorded string          `json:"recorded"`
	Commands []commandVector `json:"commands"`
}

type commandVector struct {
	// Micros is the server's clock, in µs after the first command of the case.
	Micros int64 `json:"us"`
	// From is a connection of the client, "c1" and on in the order of their first commands,
	// "script" for what a script called, or "case" for what the case itself sent.
	From string `json:"from"`
	// Args are the command and its arguments. The text of a script is {"script": variant}.
	Args []any `json:"args"`
}

// exchangeReleases are of both sides of 3.21.1 and of 3.46.0, and one of 2.x.
var exchangeReleases = []string{"2.15.2", "3.21.0", "3.21.1", "4.7.0"}

// exchangeCases show the life of a message, what goes wrong, and how scripts are sent.
var exchangeCases = []string{
	"DQ.start/subscribes-and-transfers", "DQ.start/delivers-what-was-left",
	"DQ.offer/new-head-publishes", "DQ.offer/later-one-is-silent", "DQ.offer/zero-delay",
	"DQ.timer/delivers-when-due", "DQ.timer/rearmed-by-the-reply", "DQ.timer/announcement-of-the-past", "DQ.timer/reconnect-transfers",
	"DQ.transfer/one", "DQ.transfer/foreign-member-repeats-those-before",
	"DQ.poll/first-offered", "DQ.poll/last-to-other", "DQ.read/peek", "DQ.remove/one-of-equal",
	"DQ.destroy/unsubscribes", "DQ.destroy/timer-goes-on", "DQ.destroy/timer-is-cancelled",
	"DQ.script/forgotten-is-loaded-again", "Q.blocking/take-waits",
}

func exchangeVectors(t *testing.T) (all []exchangeVector) {
	t.Helper()
	for _, release := range exchangeReleases {
		for _, id := range exchangeCases {
			recording := redisson(release, id)
			for _, c := range recording.Cases() {
				if c.ID == id {
					// The recorder, which marks the case and arranges things for it, has a connection of its own.
					mark := slices.IndexFunc(recording.Lines, func(l trace.Line) bool { marked, ok := trace.CaseMark(l); return ok && marked == id })
					all = append(all, exchangeVector{release, id, recording.Path, commandsOf(c.Lines, recording.Lines[mark].Peer)})
				}
			}
		}
	}
	return all
}

func commandsOf(lines []trace.Line, setUp string) []commandVector {
	names, commands := map[string]string{}, []commandVector{}
	for _, l := range lines {
		from := "script"
		switch {
		case l.Inner():
		case l.Peer == setUp:
			from = "case"
		default:
			if names[l.Peer] == "" {
				names[l.Peer] = fmt.Sprintf("c%d", len(names)+1)
			}
			from = names[l.Peer]
		}
		commands = append(commands, commandVector{l.Time - lines[0].Time, from, argsVector(l)})
	}
	return commands
}

func argsVector(l trace.Line) []any {
	args := make([]any, len(l.Args))
	for i, arg := range l.Args {
		args[i] = bytesVector(arg)
		for _, s := range wire.Scripts() {
			if s.Body == arg {
				args[i] = map[string]string{"script": s.Variant}
			}
		}
	}
	return args
}

// must is for what fails only in a broken tree, such as reading one of its files.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
