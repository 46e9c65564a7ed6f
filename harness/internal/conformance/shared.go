package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance/guest"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// shared keeps a run harmless on a server that it did not start. It knows every
// command's sender, by MONITOR, and so the keys that the run has made.
type shared struct {
	addr   string
	socket io.Closer
	do     guest.Do // looks around and deletes; a lost connection is not replaced
	relay  *guest.Relay
	// sync waits until MONITOR has shown everything up to now.
	sync func(context.Context) error
	// own are the ids of the harness's connections.
	own map[int64]bool
	// blind says that CLIENT LIST is not permitted.
	blind bool
	// admitted says that nothing of anybody else was there when the run began.
	admitted bool

	mu      sync.Mutex
	senders map[string]sender // by peer
	last    sender
	made    map[guest.Key]bool
	strange guest.Strange
}

// sender is who sends a command.
type sender int

const (
	stranger sender = iota
	harness         // what it polls, marks and deletes with
	setUp           // a case's own commands
	tested          // the program's
)

// share makes the runner a guest: it looks whether anybody else is there, and lets
// nothing reach the server from then on whose sender is not known.
func (r *Runner) share(ctx context.Context, url string) error {
	s := &shared{
		addr: redis.Place(url), own: map[int64]bool{},
		senders: map[string]sender{}, made: map[guest.Key]bool{},
		sync: func(ctx context.Context) error { _, err := r.collect(ctx); return err },
	}
	r.shared = s
	var err error
	if r.around.cluster, err = inCluster(ctx, r.control); err != nil {
		return err
	}
	socket, err := redis.Dial(ctx, url)
	if err != nil {
		return err
	}
	s.socket, s.do = socket, guest.By(socket)
	for _, own := range []struct {
		do     guest.Do
		sender sender
	}{{guest.On(r.control), harness}, {s.do, harness}, {guest.On(r.setUp), setUp}} {
		info, err := infoOf(ctx, own.do)
		if err != nil {
			return err
		}
		s.own[info.ID], s.senders[info.Addr] = true, own.sender
		if own.sender == setUp {
			r.setUpBy = info.Addr
		}
	}
	if s.relay, err = guest.NewRelay(url); err != nil {
		return err
	}
	if r.url, err = s.relay.URL(url); err != nil {
		return err
	}
	if r.watch, err = startWatch(ctx, url, s.keep, asItIs); err != nil {
		return err
	}
	if err := s.admit(ctx); err != nil {
		return err
	}
	if err := guest.Rehearse(ctx, s.do, needed(wire.NamesOf(defaultQueue))); err != nil {
		return s.forbidden(err.Error(), nil)
	}
	if s.blind {
		r.Notice = "the server does not permit CLIENT LIST: other clients are noticed by their commands and keys only"
	}
	return nil
}

// needed are commands that nearly every case needs, of the harness and of programs, as
// users may be given rights for them: by command, key and channel.
func needed(n wire.Names) [][]string {
	return [][]string{
		{"WATCH", n.Destination},
		{"DEL", n.Destination, n.TimeoutSet, n.Pending},
		{"SCAN", "0"},
		{"TYPE", n.Destination},
		{"LRANGE", n.Pending, "0", "-1"},
		{"ZRANGE", n.TimeoutSet, "0", "-1"},
		{"PTTL", n.Pending},
		{"SCRIPT", "FLUSH"},
		{"SUBSCRIBE", n.Channel},
		{"EVAL", "return 1", "4", n.Destination, n.TimeoutSet, n.Pending, n.Channel},
		{"ZADD", n.TimeoutSet, "0", "a"},
		{"RPUSH", n.Destination, "a"},
		{"PUBLISH", n.Channel, "0"},
	}
}

func (s *shared) forbidden(refused string, left []guest.Key) error {
	return &guest.ForbiddenError{Addr: s.addr, Refused: refused, Left: left}
}

// keep takes note of a line of MONITOR and reports whether it is of a case.
func (s *shared) keep(l monitor.Line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case l.Inner():
	case s.relay.Marks(l):
		s.senders[l.Peer], s.last = tested, harness
		return false
	default:
		s.last = s.senders[l.Peer]
	}
	switch s.last {
	case harness:
		return l.Name() == "echo"
	case stranger:
		s.strange.Note(l)
		return false
	}
	for _, name := range guest.KeysOf(l) {
		s.made[guest.Key{DB: l.DB, Name: name}] = true
	}
	return true
}

// admit makes sure that the server holds nothing that a run could harm. The
// connection in MONITOR mode is the run's, if there is just one.
func (s *shared) admit(ctx context.Context) error {
	clients, permitted, err := guest.Clients(ctx, s.do)
	if err != nil {
		return err
	}
	s.blind = !permitted
	watching := slices.DeleteFunc(clients, func(c guest.Client) bool { return !c.Monitors() })
	if len(watching) == 1 {
		s.own[watching[0].ID] = true
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	scripts, err := guest.CachedScripts(ctx, s.do)
	if err != nil || scripts == 0 {
		s.admitted = err == nil
		return err
	}
	return &guest.InUseError{
		Addr: s.addr, Found: fmt.Sprintf("%d cached scripts, which the SCRIPT FLUSH before each case would drop", scripts),
		Advice: "If nobody needs them, as those of an earlier run: redis-cli SCRIPT FLUSH",
	}
}

// check returns ErrServerInUse if there is anything of somebody else. It waits for
// the program's connections to end.
func (s *shared) check(ctx context.Context) error {
	_, err := s.look(ctx)
	return err
}

// look returns the run's own keys, where nothing else is there.
func (s *shared) look(ctx context.Context) (ours []guest.Key, err error) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := s.relay.WaitIdle(ctx); err != nil {
		return nil, &faultError{err}
	}
	var clients []guest.Client
	if !s.blind {
		clients, _, err = guest.Strangers(ctx, s.do, func(c guest.Client) bool { return s.own[c.ID] })
		if err != nil {
			return nil, &faultError{err}
		}
	}
	if err := s.sync(ctx); err != nil {
		return nil, err
	}
	ours, others, err := guest.Sort(ctx, s.do, s.isOurs)
	if err != nil {
		return nil, &faultError{err}
	}
	if found := guest.Findings(others, s.strangeCommands(), clients); found != "" {
		return nil, s.inUse(found, ours, others)
	}
	return ours, nil
}

func (s *shared) inUse(found string, ours, others []guest.Key) error {
	s.mu.Lock()
	e := &guest.InUseError{Addr: s.addr, Found: found, Left: s.strange.Untouched(ours)}
	s.mu.Unlock()
	if len(others) > 0 && !s.admitted {
		e.Advice = "If an earlier run that was killed left the keys behind: " + guest.RemovalHint(others)
	}
	return e
}

func (s *shared) isOurs(k guest.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made[k]
}

func (s *shared) strangeCommands() []guest.Foreign {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.strange.Commands)
}

// sweep removes the keys of the run, if nobody else has come.
func (s *shared) sweep(ctx context.Context) error {
	ours, err := s.look(ctx)
	if err != nil {
		return err
	}
	err = guest.Remove(ctx, s.do, ours, s.undisturbed)
	switch {
	case errors.Is(err, guest.ErrChanged):
		return cmp.Or(s.undisturbed(ctx), s.inUse(err.Error(), nil, nil))
	case guest.Refused(err):
		left, _, scanErr := guest.Sort(ctx, s.do, s.isOurs)
		return errors.Join(s.forbidden("deleting: "+err.Error(), left), scanErr)
	case err != nil:
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.made)
	// Ports are used again: from here on an address is a stranger's, until the relay
	// says otherwise.
	for peer, who := range s.senders {
		if who == tested {
			delete(s.senders, peer)
		}
	}
	return nil
}

// undisturbed says whether anybody else has sent anything up to now.
func (s *shared) undisturbed(ctx context.Context) error {
	if err := s.sync(ctx); err != nil {
		return err
	}
	if found := guest.Findings(nil, s.strangeCommands(), nil); found != "" {
		return s.inUse(found, nil, nil)
	}
	return nil
}

func (s *shared) close() error {
	if s.relay != nil {
		s.relay.Close()
	}
	if s.socket == nil {
		return nil
	}
	return s.socket.Close()
}

// kills reports whether a set-up command is one that ends connections of a type.
func kills(command []string) bool {
	return len(command) == 4 && strings.EqualFold(command[0]+" "+command[1]+" "+command[2], "client kill type")
}

// killProgram ends the program's connections of a type, and nobody else's.
func (s *shared) killProgram(ctx context.Context, typed []string) error {
	clients, _, err := guest.Clients(ctx, s.do, typed...)
	if err != nil {
		return &faultError{err}
	}
	for _, c := range clients {
		s.mu.Lock()
		ours := s.senders[c.Addr] == tested
		s.mu.Unlock()
		if !ours {
			continue
		}
		if _, err := s.do(ctx, "CLIENT", "KILL", "ID", strconv.FormatInt(c.ID, 10)); err != nil {
			return &faultError{err}
		}
	}
	return nil
}

// forbidden says why a case is not for a server that others may use, or "".
func (r *Runner) forbidden(c *Case) string {
	if r.shared == nil {
		return ""
	}
	for _, step := range c.Steps {
		switch reach := reachOf(step.Redis); {
		case reach == "":
		case kills(step.Redis) && !r.shared.blind:
		case kills(step.Redis):
			return "it ends connections of the program, which cannot be told from others here: the server does not permit CLIENT LIST"
		default:
			return fmt.Sprintf("it sends %s, which reaches beyond its own keys, and the server was not started for the run", reach)
		}
	}
	return ""
}

// reachOf names a set-up command that others on the server would feel, "" for one
// that concerns only the keys it names. SCRIPT FLUSH drops only scripts of the run:
// it begins with none in the cache.
func reachOf(command []string) string {
	if len(command) == 0 {
		return ""
	}
	name := strings.ToUpper(command[0])
	switch name {
	case "FLUSHALL", "FLUSHDB", "SWAPDB", "CONFIG", "DEBUG", "SHUTDOWN", "ACL", "MODULE", "FUNCTION", "FAILOVER", "REPLICAOF", "SLAVEOF",
		"SAVE", "BGSAVE", "BGREWRITEAOF", "CLUSTER", "LATENCY", "SLOWLOG":
		return name
	case "CLIENT":
		if len(command) > 1 && slices.Contains([]string{"KILL", "PAUSE", "UNPAUSE", "UNBLOCK"}, strings.ToUpper(command[1])) {
			return name + " " + strings.ToUpper(command[1])
		}
	}
	return ""
}
