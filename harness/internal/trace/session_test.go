package trace_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/stretchr/testify/require"
)

// session writes what MONITOR shows of a client with one consumer that offers
// three messages and gets them: two sessions with different seeds are the same
// behaviour recorded twice.
type session struct {
	release wire.Release
	seed    uint64
	// misses adds the calls of a server without the script; idle is the number
	// of transfers sent while the next message is due within 10 ms.
	misses bool
	idle   int
	// empty offers no bytes, under ids that end with it.
	empty *byte

	rng   *rand.Rand
	clock int64 // µs
	lines []trace.Line
}

var names = wire.NamesOf("orders")

func (s *session) recording(t *testing.T) *trace.Recording {
	t.Helper()
	s.rng = rand.New(rand.NewPCG(s.seed, 1))
	s.clock = 1_700_000_000_000_000 + s.rng.Int64N(1e15)
	s.client("PING")
	s.client("SUBSCRIBE", names.Channel)
	s.transfer(0, nil)
	s.client("BLPOP", "orders", "0")
	var members []string
	due := s.ms() + 1000
	for i := range 3 {
		members = append(members, s.offer(due+int64(i), "value "+strconv.Itoa(i), i == 0))
	}
	s.clock = (due - 9) * 1000
	for range s.idle {
		s.transfer(0, nil)
	}
	s.clock = (due + 3) * 1000
	s.transfer(0, members)
	for range 3 {
		s.client("BLPOP", "orders", "0")
	}
	var text strings.Builder
	for _, l := range s.lines {
		fmt.Fprintln(&text, l)
	}
	rec, err := trace.Read([]byte(text.String()), fmt.Sprintf("seed%d", s.seed))
	require.NoError(t, err)
	return rec
}

func (s *session) ms() int64 { return s.clock / 1000 }

func (s *session) add(peer string, args ...string) {
	s.clock += 50 + s.rng.Int64N(200)
	s.lines = append(s.lines, trace.Line{Time: s.clock, Peer: peer, Args: args})
}

func (s *session) client(args ...string) {
	s.add("10.0.0.1:"+strconv.Itoa(1024+s.rng.IntN(60000)), args...)
}

func (s *session) inner(args ...string) { s.add("lua", args...) }

// call adds a script call in the release's way.
func (s *session) call(name wire.ScriptName, args ...string) {
	script, _ := s.release.Script(name)
	if !s.release.CachesScripts() {
		s.client(append([]string{"EVAL", script.Body}, args...)...)
		return
	}
	if s.misses {
		s.client(append([]string{"EVALSHA", script.SHA1}, args...)...)
		s.client("SCRIPT", "LOAD", script.Body)
	}
	s.client(append([]string{"EVALSHA", script.SHA1}, args...)...)
}

func (s *session) offer(due int64, value string, head bool) string {
	random := int64(s.rng.Uint64())
	id := wire.DoubleID(random)
	if s.empty != nil {
		id[7], value = *s.empty, ""
	}
	arg := strconv.FormatInt(random, 10)
	if s.release.Layout() == wire.LayoutBc0Lc0 {
		arg = string(id[:])
	}
	member := string(s.release.Layout().Pack(id, []byte(value)))
	dueText := strconv.FormatInt(due, 10)
	s.call(wire.ScriptOffer, "4", names.Destination, names.TimeoutSet, names.Pending, names.Channel, dueText, arg, value)
	s.inner("zadd", names.TimeoutSet, dueText, member)
	s.inner("rpush", names.Pending, member)
	s.inner("zrange", names.TimeoutSet, "0", "0")
	if head {
		s.inner("publish", names.Channel, dueText)
	}
	return member
}

func (s *session) transfer(lag int64, members []string) {
	now := strconv.FormatInt(s.ms()-lag, 10)
	s.call(wire.ScriptTransfer, "3", names.Destination, names.TimeoutSet, names.Pending, now, "100")
	s.inner("zrangebyscore", names.TimeoutSet, "0", now, "limit", "0", "100")
	for _, member := range members {
		m, _ := s.release.Layout().Unpack([]byte(member))
		s.inner("rpush", names.Destination, string(m.Value))
		s.inner("lrem", names.Pending, "1", member)
	}
	if len(members) > 0 {
		s.inner(append([]string{"zrem", names.TimeoutSet}, members...)...)
	}
	s.inner("zrange", names.TimeoutSet, "0", "0", "WITHSCORES")
}
