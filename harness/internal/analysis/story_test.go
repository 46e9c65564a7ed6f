package analysis_test

import (
	"encoding/binary"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// A story is a log that is made up: what clients of one queue, "orders", did. The server's
// clock goes on by 100 µs a line.
type story struct {
	out     strings.Builder
	clock   int64 // µs
	peer    string
	release wire.Release
	ids     uint64
	skew    int64 // ms that the client's clock is ahead
}

const storyBegins = int64(1_700_000_000_000_000)

var orders = wire.NamesOf("orders")

func newStory(release string) *story {
	r, err := wire.LookupRelease(release)
	if err != nil {
		panic(err)
	}
	return &story{clock: storyBegins, peer: "10.0.0.1:4000", release: r}
}

func (s *story) add(peer string, args ...string) {
	s.clock += 100
	s.out.WriteString(trace.Line{Time: s.clock, Peer: peer, Args: args}.String() + "\n")
}

func (s *story) client(args ...string) { s.add(s.peer, args...) }
func (s *story) inner(args ...string)  { s.add(trace.LuaPeer, args...) }

// wait lets time pass until so many ms after the beginning.
func (s *story) wait(ms int64) { s.clock = max(s.clock, storyBegins+ms*1000) }

// now is the client's clock.
func (s *story) now() int64 { return s.clock/1000 + s.skew }

// script is the line of a script call.
func (s *story) script(name wire.ScriptName, keys []string, args ...string) {
	script, _ := s.release.Script(name)
	line := []string{"EVAL", script.Body}
	if s.release.CachesScripts() {
		line = []string{"EVALSHA", script.SHA1}
	}
	s.client(append(append(append(line, strconv.Itoa(len(keys))), keys...), args...)...)
}

// member packs a value with the next id.
func (s *story) member(value string) (random, member string) {
	s.ids++
	layout := s.release.Layout()
	if layout == wire.LayoutDLc0 {
		id := wire.DoubleID(int64(s.ids))
		return strconv.Itoa(int(s.ids)), string(layout.Pack(id, []byte(value)))
	}
	id := [8]byte{}
	binary.BigEndian.PutUint64(id[:], s.ids)
	return string(id[:]), string(layout.Pack(id, []byte(value)))
}

// offer offers a value for so many ms after the beginning, by the client's clock.
func (s *story) offer(value string, at int64) (member string) {
	random, member := s.member(value)
	s.offerMember(value, random, member, storyBegins/1000+at+s.skew)
	return member
}

func (s *story) offerMember(value, random, member string, due int64) {
	ms := strconv.FormatInt(due, 10)
	s.script(wire.ScriptOffer, []string{orders.Destination, orders.TimeoutSet, orders.Pending, orders.Channel}, ms, random, value)
	s.inner("zadd", orders.TimeoutSet, ms, member)
	s.inner("rpush", orders.Pending, member)
	s.inner("zrange", orders.TimeoutSet, "0", "0")
}

// transfer moves members: whole says that it does not fail behind them.
func (s *story) transfer(whole bool, members ...string) {
	now := strconv.FormatInt(s.now(), 10)
	s.script(wire.ScriptTransfer, []string{orders.Destination, orders.TimeoutSet, orders.Pending}, now, "100")
	s.inner("zrangebyscore", orders.TimeoutSet, "0", now, "limit", "0", "100")
	for _, m := range members {
		u, err := s.release.Layout().UnpackAny([]byte(m))
		if err != nil {
			panic(err)
		}
		s.inner("rpush", orders.Destination, string(u.Value))
		s.inner("lrem", orders.Pending, "1", m)
	}
	if !whole {
		return
	}
	if len(members) > 0 {
		s.inner(append([]string{"zrem", orders.TimeoutSet}, members...)...)
	}
	s.inner("zrange", orders.TimeoutSet, "0", "0", "WITHSCORES")
}

func (s *story) read(t *testing.T) *analysis.Document {
	t.Helper()
	return readLog(t, strings.NewReader(s.out.String()))
}

func readLog(t *testing.T, in io.Reader) *analysis.Document {
	t.Helper()
	r := &analysis.Reader{Analysis: analysis.New()}
	require.NoError(t, r.Log(t.Context(), opened(in)))
	return r.Document()
}

func kinds(d *analysis.Document) []analysis.Kind {
	all := []analysis.Kind{}
	for _, a := range d.Anomalies {
		all = append(all, a.Kind)
	}
	return all
}
