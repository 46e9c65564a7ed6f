package forensics_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// model is a queue in memory, behind a go-redis client: between any two commands,
// others do something to it.
type model struct {
	list   []string
	set    map[string]float64
	random *rand.Rand
	made   int
	act    func()
}

func (m *model) client(t *testing.T) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: "model"})
	t.Cleanup(func() { c.Close() })
	c.AddHook(m)
	return c
}

func (m *model) DialHook(goredis.DialHook) goredis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { panic("the model needs no connection") }
}

func (m *model) ProcessHook(goredis.ProcessHook) goredis.ProcessHook {
	return func(_ context.Context, cmd goredis.Cmder) error {
		m.act()
		return m.answer(cmd)
	}
}

func (m *model) ProcessPipelineHook(goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(_ context.Context, cmds []goredis.Cmder) error {
		for _, cmd := range cmds {
			m.act()
			_ = m.answer(cmd)
		}
		return nil
	}
}

func (m *model) answer(cmd goredis.Cmder) error {
	args, reply := cmd.Args(), cmd.(*goredis.Cmd)
	switch args[0] {
	case "EXISTS":
		reply.SetVal(int64(1))
	case "LRANGE":
		var found []any
		for _, entry := range part(m.list, args[2].(int64), args[3].(int64)) {
			found = append(found, entry)
		}
		reply.SetVal(found)
	case "ZRANGE":
		var all []redis.Z
		for member, score := range m.set {
			all = append(all, redis.Z{Score: score, Member: member})
		}
		slices.SortFunc(all, func(a, b redis.Z) int { return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Member, b.Member)) })
		var found []any
		for _, z := range part(all, args[2].(int64), args[3].(int64)) {
			found = append(found, z.Member, fmt.Sprint(z.Score))
		}
		reply.SetVal(found)
	case "ZSCORE":
		score, ok := m.set[args[2].(string)]
		if !ok {
			reply.SetErr(goredis.Nil)
			return goredis.Nil
		}
		reply.SetVal(fmt.Sprint(score))
	case "SISMEMBER": // nothing is unlisted
		reply.SetVal(int64(0))
	default:
		panic(fmt.Sprintf("the model does not know %v", args))
	}
	return nil
}

// part is what a range command gives.
func part[T any](all []T, first, last int64) []T {
	first, end := min(first, int64(len(all))), min(last+1, int64(len(all)))
	return all[first:max(first, end)]
}

func (m *model) offer() string {
	m.made++
	member := fmt.Sprintf("member %d", m.made)
	m.set[member] = float64(m.random.IntN(50)) // many are due in the same millisecond
	m.list = append(m.list, member)
	return member
}

// transfer takes out the members that are due first, as Redisson does.
func (m *model) transfer(n int) {
	for ; n > 0 && len(m.set) > 0; n-- {
		first := ""
		for member, score := range m.set {
			if first == "" || score < m.set[first] || score == m.set[first] && member < first {
				first = member
			}
		}
		m.remove(first)
	}
}

func (m *model) remove(member string) {
	delete(m.set, member)
	if i := slices.Index(m.list, member); i >= 0 {
		m.list = slices.Delete(m.list, i, i+1)
	}
}

// live is what may happen between two commands of a reader.
func (m *model) live() {
	switch m.random.IntN(8) {
	case 0, 1:
		m.offer()
	case 2, 3:
		m.transfer(m.random.IntN(4))
	case 4:
		m.transfer(m.random.IntN(3 * chunk)) // more than two chunks have in common
	case 5, 6:
		if len(m.list) > 0 {
			m.remove(m.list[m.random.IntN(len(m.list))])
		}
	}
}

// seeded returns a queue of n members, some of them ghosts, orphans or listed again, in
// any place.
func seeded(seed uint64, n int) (m *model, ghosts, orphans, again []string) {
	m = &model{set: map[string]float64{}, random: rand.New(rand.NewPCG(seed, 1)), act: func() {}}
	for range n {
		member := m.offer()
		switch m.random.IntN(20) {
		case 0:
			delete(m.set, member)
			ghosts = append(ghosts, member)
		case 1:
			m.list = m.list[:len(m.list)-1]
			m.set[member] = 1000 // no transfer comes to it
			orphans = append(orphans, member)
		}
	}
	for range m.random.IntN(3) {
		if i := m.random.IntN(n / 2); m.set[m.list[i]] > 0 {
			member := m.list[i]
			m.set[member] = 1000
			m.list = append(m.list, member)
			again = append(again, member)
		}
	}
	return m, ghosts, orphans, again
}

// chunk is so small that a walk has many.
const chunk = 16

// readSet walks the timeout set, and counts how often each member is met.
func readSet(t *testing.T, m *model) (*forensics.Reader, *forensics.Index, map[string]int) {
	t.Helper()
	reader, err := forensics.NewReader(t.Context(), redis.On(m.client(t)), "orders")
	require.NoError(t, err)
	reader.LimitChunk(chunk)
	index, met := forensics.NewIndex(len(m.set)), map[string]int{}
	require.NoError(t, reader.TimeoutSet(t.Context(), func(chunk []redis.Z) error {
		for _, z := range chunk {
			index.Add(z.Member)
			met[z.Member]++
		}
		return nil
	}))
	return reader, index, met
}

func TestCompareOfAQueueAtRest(t *testing.T) {
	for seed := range uint64(20) {
		m, ghosts, orphans, again := seeded(seed, 500)
		reader, index, met := readSet(t, m)
		require.Len(t, met, len(m.set))
		for member, n := range met {
			require.Equal(t, 1, n, member)
		}
		visited := 0
		d, err := forensics.Compare(t.Context(), reader, index, func(i int, member string) {
			require.Equal(t, m.list[i], member)
			visited++
		})
		require.NoError(t, err)
		require.Len(t, m.list, visited)
		require.Equal(t, []int{len(ghosts), len(orphans), len(again), 0}, []int{d.Ghosts.Count, d.Orphans.Count, d.Again.Count, d.Unsettled})
		require.False(t, d.Lost)
	}
}

// While others offer, transfer and remove between any two commands, every member that
// stays is met once, and nothing is called a ghost or an orphan that is none.
func TestCompareOfAQueueInUse(t *testing.T) {
	for seed := range uint64(60) {
		m, ghosts, orphans, again := seeded(seed, 500)
		stays := map[string]bool{}
		for member := range m.set {
			stays[member] = true
		}
		m.act = func() {
			m.live()
			for member := range stays {
				if _, ok := m.set[member]; !ok {
					delete(stays, member)
				}
			}
		}
		reader, index, met := readSet(t, m)
		for member := range stays {
			require.Equal(t, 1, met[member], "seed %d: %s", seed, member)
		}
		d, err := forensics.Compare(t.Context(), reader, index, nil)
		require.NoError(t, err)
		require.False(t, d.Lost)

		left := func(all []string, there func(string) bool) int {
			return len(slices.DeleteFunc(slices.Clone(all), func(member string) bool { return !there(member) }))
		}
		inSet := func(member string) bool { _, ok := m.set[member]; return ok }
		inList := func(member string) bool { return slices.Contains(m.list, member) }
		// What is listed again is a ghost once it was transferred.
		require.LessOrEqual(t, d.Ghosts.Count, len(ghosts)+len(again), "seed %d: no more than there were", seed)
		require.GreaterOrEqual(t, d.Ghosts.Count+d.Unsettled, left(ghosts, inList), "seed %d: no less than there are", seed)
		require.LessOrEqual(t, d.Orphans.Count, len(orphans), "seed %d", seed)
		require.GreaterOrEqual(t, d.Orphans.Count, left(orphans, inSet), "seed %d", seed)
		for _, ghost := range d.Ghosts.First {
			require.Contains(t, append(ghosts, again...), ghost, "seed %d", seed)
		}
		for _, orphan := range d.Orphans.First {
			require.Contains(t, orphans, orphan, "seed %d", seed)
		}
	}
}

// Of a list that has gone and come again within each walk, nothing is said.
func TestCompareOfAListThatChangesFasterThanItIsRead(t *testing.T) {
	m, _, _, _ := seeded(1, 10)
	fill := func() {
		m.list = nil
		for range 3 * forensics.TrailLength {
			m.offer()
		}
	}
	reader, index, _ := readSet(t, m)
	fill()
	calls := 0
	m.act = func() {
		// Later than the walk can remember all of it, and sooner than it ends.
		if calls++; calls%(2*forensics.TrailLength/chunk) == 0 {
			m.set = map[string]float64{}
			fill()
		}
	}
	d, err := forensics.Compare(t.Context(), reader, index, nil)
	require.NoError(t, err)
	require.Equal(t, forensics.Difference{Lost: true}, d)
}

// A list whose middle takes the server too long to seek is left alone.
func TestCompareOfAListThatIsTooDeep(t *testing.T) {
	m, _, _, _ := seeded(1, 500)
	reader, index, _ := readSet(t, m)
	calls := 0
	m.act = func() {
		if calls++; calls > 5 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	visited := 0
	d, err := forensics.Compare(t.Context(), reader, index, func(int, string) { visited++ })
	require.NoError(t, err)
	require.Equal(t, forensics.Difference{Deep: true}, d)
	require.Less(t, visited, len(m.list), "it was not read to the end")
}
