package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// senders knows the sender of each line of MONITOR. Each connection of the run begins with an ECHO:
//
//	control, set-up ── ECHO <mark>control ──────────────────────► Redis
//	program ──► proxy ── ECHO <mark>program, then byte for byte ──► Redis
//
// The proxy also sees the commands of administrators, which MONITOR does not show.
type senders struct {
	proxy *redis.Proxy
	url   string           // of the server by way of the proxy
	mark  string           // begins the text of each ECHO
	guest *trace.Guest     // nil on a server that was started for the run
	tee   func(trace.Line) // gets the program's commands on a server without MONITOR; else nil
	named map[string]bool  // arguments of these commands since the last case

	mu     sync.Mutex
	peers  map[string]string // the sender of each peer
	last   string            // the sender of a client's last command
	hidden []string          // commands of administrators that the program sent
}

// The senders.
const (
	control = "control" // polls, marks and empties; never part of a case
	setUp   = "set-up"  // sends the cases' own commands
	tested  = "program"
)

// newSenders puts a proxy in front of the server at an address.
func newSenders(address string) (*senders, error) {
	s := &senders{mark: "dq-bench:" + rand.Text() + ":", peers: map[string]string{}, named: map[string]bool{}}
	// A server may want a login before ECHO. The program's own login follows.
	dial := func(ctx context.Context) (net.Conn, error) {
		return redis.Dial(ctx, address, []string{"ECHO", s.mark + tested})
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the server's address is no URL")
	}
	if s.proxy, err = redis.NewProxy(dial); err != nil {
		return nil, err
	}
	s.proxy.OnCommand(s.note)
	u.Scheme, u.Host, u.RawQuery = "redis", s.proxy.Addr, "" // the query names files for TLS
	s.url = u.String()
	return s, nil
}

// keep notes the sender of a line and reports whether the line is part of a case.
func (s *senders) keep(l trace.Line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.Inner() {
		if l.Name() == "echo" && len(l.Args) == 2 {
			if who, ours := strings.CutPrefix(l.Args[1], s.mark); ours {
				s.peers[l.Peer], s.last = who, control
				return false
			}
		}
		s.last = s.peers[l.Peer]
	}
	switch {
	case s.last == control:
		return l.Name() == "echo"
	case s.last == setUp && (l.Name() == "multi" || l.Name() == "exec"):
		return false // a seed is in the recordings as two commands
	case s.last == "" && s.guest != nil:
		s.guest.Note(l)
		return false
	}
	return true
}

// is reports whether a peer is a sender.
func (s *senders) is(peer, who string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[peer] == who
}

// forget makes the peers of the program strangers: their ports may be used again.
func (s *senders) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.named)
	for peer, who := range s.peers {
		if who == tested {
			delete(s.peers, peer)
		}
	}
}

// administrators' commands do not show in MONITOR. No Redisson sends one.
var administrators = []string{
	"acl", "bgrewriteaof", "bgsave", "client kill", "client list", "client no-evict", "client pause", "client unpause", "cluster failover",
	"cluster forget", "cluster meet", "cluster replicate", "cluster reset", "cluster setslot", "config", "debug", "failover", "lastsave", "latency",
	"module", "monitor", "psync", "replconf", "replicaof", "role", "save", "shutdown", "slaveof", "slowlog", "sync",
}

// harmless ones only read: they matter at the level wire.
var harmless = regexp.MustCompile(`^(CLIENT LIST|CONFIG GET|ACL (GETUSER|LIST|USERS)|LATENCY.*|LASTSAVE|ROLE|SLOWLOG (GET|LEN)) `)

func (s *senders) note(_ *redis.ProxyConn, command []string) redis.Verdict {
	if s.tee != nil {
		s.mu.Lock()
		for _, arg := range command {
			s.named[arg] = true
		}
		s.mu.Unlock()
		s.tee(trace.Line{Time: time.Now().UnixMicro(), Peer: tested, Args: command})
	}
	two := strings.ToLower(strings.Join(command[:min(2, len(command))], " ")) + " "
	if slices.ContainsFunc(administrators, func(name string) bool { return strings.HasPrefix(two, name+" ") }) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hidden = append(s.hidden, strings.ToUpper(two)+"was sent, which MONITOR does not show; no Redisson sends it")
	}
	return redis.Pass
}

// unexpected names the commands of administrators that the program has sent since the last call.
func (s *senders) unexpected(level Level) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := slices.Compact(slices.Sorted(slices.Values(s.hidden)))
	s.hidden = nil
	return slices.DeleteFunc(sent, func(text string) bool { return level != Wire && harmless.MatchString(text) })
}

// kills reports whether a set-up command ends connections of a type.
func kills(command []string) bool {
	return len(command) == 4 && strings.EqualFold(strings.Join(command[:3], " "), "client kill type")
}

// client is a line of CLIENT LIST.
var client = regexp.MustCompile(`(?m)^id=(\d+) addr=(\S+)`)

// kill ends the program's connections of a type, and no others.
func (r *Runner) kill(ctx context.Context, kind string) error {
	list, err := r.control.Do(ctx, "CLIENT", "LIST", "TYPE", kind).Text()
	for _, m := range client.FindAllStringSubmatch(list, -1) {
		if r.senders.is(m[2], tested) {
			err = errors.Join(err, r.control.Do(ctx, "CLIENT", "KILL", "ID", m[1]).Err())
		}
	}
	if err != nil {
		return &faultError{err}
	}
	return nil
}

// mine reports whether the run can have made a key: the program named it, or the case does.
func (r *Runner) mine(key string) bool {
	r.senders.mu.Lock()
	defer r.senders.mu.Unlock()
	return r.senders.named[key] || r.last != nil && (slices.ContainsFunc(r.last.queues(), func(n wire.Names) bool {
		return slices.Contains([]string{n.Destination, n.Pending, n.TimeoutSet}, key)
	}) || slices.ContainsFunc(r.last.Steps, func(s *Step) bool { return slices.Contains(s.Redis, key) }))
}
