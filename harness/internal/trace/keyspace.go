package trace

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Key is a key in a database.
type Key struct {
	DB   int
	Name string
}

// Value is a list or, if Scores is not nil, a sorted set.
type Value struct {
	List   []string
	Scores map[string]float64
}

// Keyspace holds the keys that recorded commands lead to. It knows the commands of lists, sorted sets and subscriptions
// that delayed queues use.
type Keyspace struct {
	Values map[Key]*Value
	// Unknown maps a key to the first command on it that is not modelled: its content is not known.
	Unknown map[Key]string
	// Subscribers are the peers of each channel.
	Subscribers map[string]map[string]bool

	waiting []Line // blocking commands, who waits longest first
	inMulti map[string]bool
	// changed is told of each element that comes, +1, or goes, -1.
	changed func(key Key, element string, score float64, by int)
}

// NewKeyspace returns an empty one.
func NewKeyspace() *Keyspace {
	return &Keyspace{
		Values: map[Key]*Value{}, Unknown: map[Key]string{}, Subscribers: map[string]map[string]bool{}, inMulti: map[string]bool{},
		changed: func(Key, string, float64, int) {},
	}
}

// Apply takes over a call. A script is known by its inner commands alone. Waiting clients are served after the call, as the server does.
func (m *Keyspace) Apply(l Line, inner []Line) {
	m.waiting = slices.DeleteFunc(m.waiting, func(w Line) bool { return w.Peer == l.Peer })
	switch name := l.Name(); {
	case name == "multi":
		m.inMulti[l.Peer] = true
	case Subscribes(l) || name == "quit" || name == "reset":
		m.subscribe(l)
	case name == "exec" || name == "discard":
		delete(m.inMulti, l.Peer)
		fallthrough
	case len(inner) > 0:
		for _, in := range inner {
			m.command(in)
		}
	case Blocks(l) && !m.inMulti[l.Peer]:
		m.waiting = append(m.waiting, l)
	default:
		m.command(l)
	}
	for i := 0; i < len(m.waiting); {
		if !m.command(m.waiting[i]) {
			i++
			continue
		}
		m.waiting = slices.Delete(m.waiting, i, i+1)
		i = 0
	}
}

func (m *Keyspace) subscribe(l Line) {
	switch l.Name() {
	case "subscribe":
		for _, channel := range l.Args[1:] {
			if m.Subscribers[channel] == nil {
				m.Subscribers[channel] = map[string]bool{}
			}
			m.Subscribers[channel][l.Peer] = true
		}
	case "unsubscribe", "quit", "reset":
		for channel, peers := range m.Subscribers {
			if len(l.Args) == 1 || slices.Contains(l.Args[1:], channel) {
				delete(peers, l.Peer)
			}
		}
	}
}

// command changes the keys as the command does. It reports whether a popping command got an element.
func (m *Keyspace) command(l Line) bool {
	args, db := l.Args, l.DB
	key := func(i int) Key { return Key{db, args[i]} }
	move := func(back, toFront bool) bool {
		element, ok := m.pop(key(1), back)
		if ok {
			m.push(key(2), element, toFront)
		}
		return ok
	}
	switch name, n := l.Name(), len(args); {
	case !Changes(l) || n < 2:
	case name == "rpush" || name == "lpush", (name == "rpushx" || name == "lpushx") && m.list(key(1)) != nil:
		for _, element := range args[2:] {
			m.push(key(1), element, name[0] == 'l')
		}
	case name == "lrem" && n == 4:
		m.remove(key(1), args[2], args[3])
	case name == "zadd" && n > 3 && n%2 == 0 && isNumber(args[2]):
		for i := 2; i < n; i += 2 {
			m.add(key(1), args[i], args[i+1])
		}
	case name == "zrem":
		for _, member := range args[2:] {
			m.drop(key(1), member)
		}
	case name == "zremrangebyscore" && n == 4:
		m.dropRange(key(1), args[2], args[3])
	case name == "del" || name == "unlink":
		for i := range args[1:] {
			m.delete(key(i + 1))
		}
	case (name == "lpop" || name == "rpop") && n <= 3:
		count := 1
		if n == 3 {
			count, _ = strconv.Atoi(args[2])
		}
		for got := range count {
			if _, ok := m.pop(key(1), name == "rpop"); !ok {
				return got > 0
			}
		}
		return count > 0
	case (name == "blpop" || name == "brpop") && n > 2:
		for i := range args[1 : n-1] {
			if _, ok := m.pop(key(i+1), name == "brpop"); ok {
				return true
			}
		}
	case (name == "rpoplpush" || name == "brpoplpush") && n > 2:
		return move(true, true)
	case (name == "lmove" || name == "blmove") && n > 4:
		return move(strings.EqualFold(args[3], "right"), strings.EqualFold(args[4], "left"))
	default:
		for _, k := range KeysOf(l) {
			if _, known := m.Unknown[Key{db, k}]; !known {
				m.Unknown[Key{db, k}] = strings.ToUpper(name)
			}
		}
		return Blocks(l)
	}
	return false
}

func (m *Keyspace) list(k Key) *Value {
	if v := m.Values[k]; v != nil && v.Scores == nil {
		return v
	}
	return nil
}

func (m *Keyspace) push(k Key, element string, front bool) {
	v := m.Values[k]
	if v == nil {
		v = &Value{}
		m.Values[k] = v
	}
	switch {
	case v.Scores != nil:
		return
	case front:
		v.List = slices.Insert(v.List, 0, element)
	default:
		v.List = append(v.List, element)
	}
	m.changed(k, element, 0, 1)
}

func (m *Keyspace) pop(k Key, back bool) (string, bool) {
	v := m.list(k)
	if v == nil || len(v.List) == 0 {
		return "", false
	}
	at := 0
	if back {
		at = len(v.List) - 1
	}
	element := v.List[at]
	v.List = slices.Delete(v.List, at, at+1)
	m.changed(k, element, 0, -1)
	m.dropEmpty(k)
	return element, true
}

// remove is LREM: count elements from the front, from the back, or all of them.
func (m *Keyspace) remove(k Key, countText, element string) {
	v := m.list(k)
	count, err := strconv.Atoi(countText)
	if v == nil || err != nil {
		return
	}
	if count < 0 {
		slices.Reverse(v.List)
	}
	left := max(count, -count)
	v.List = slices.DeleteFunc(v.List, func(e string) bool {
		if e != element || count != 0 && left == 0 {
			return false
		}
		left--
		m.changed(k, e, 0, -1)
		return true
	})
	if count < 0 {
		slices.Reverse(v.List)
	}
	m.dropEmpty(k)
}

func (m *Keyspace) add(k Key, scoreText, member string) {
	v := m.Values[k]
	if v == nil {
		v = &Value{Scores: map[string]float64{}}
		m.Values[k] = v
	}
	if score, err := strconv.ParseFloat(scoreText, 64); err == nil && v.Scores != nil {
		v.Scores[member] = score
		m.changed(k, member, score, 1)
	}
}

func (m *Keyspace) drop(k Key, member string) {
	if v := m.Values[k]; v != nil && v.Scores != nil {
		if score, ok := v.Scores[member]; ok {
			delete(v.Scores, member)
			m.changed(k, member, score, -1)
		}
		m.dropEmpty(k)
	}
}

// dropRange is ZREMRANGEBYSCORE.
func (m *Keyspace) dropRange(k Key, from, to string) {
	v := m.Values[k]
	if v == nil {
		return
	}
	low, above := strings.CutPrefix(from, "(")
	high, below := strings.CutPrefix(to, "(")
	least, _ := strconv.ParseFloat(low, 64)
	most, _ := strconv.ParseFloat(high, 64)
	for _, member := range v.Members() {
		score := v.Scores[member]
		if score >= least && score <= most && !(above && score == least) && !(below && score == most) {
			m.drop(k, member)
		}
	}
}

// Members are the members of a sorted set, in the server's order.
func (v *Value) Members() []string {
	return slices.SortedFunc(maps.Keys(v.Scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(v.Scores[a], v.Scores[b]), strings.Compare(a, b))
	})
}

func (m *Keyspace) delete(k Key) {
	if v := m.Values[k]; v != nil {
		for _, element := range v.List {
			m.changed(k, element, 0, -1)
		}
		for _, member := range v.Members() {
			m.changed(k, member, v.Scores[member], -1)
		}
	}
	delete(m.Values, k)
	delete(m.Unknown, k)
}

func (m *Keyspace) dropEmpty(k Key) {
	if v := m.Values[k]; v != nil && len(v.List) == 0 && len(v.Scores) == 0 {
		delete(m.Values, k)
	}
}
