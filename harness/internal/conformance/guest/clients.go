package guest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Client is a line of CLIENT LIST.
type Client struct {
	ID int64
	// Addr is the client's address, as MONITOR shows it too.
	Addr string
	// Name is what CLIENT SETNAME gave it.
	Name string
	// Flags are letters: M and S for links to a master and a replica, O for MONITOR.
	Flags string
	// Age is how long the client is connected, in whole seconds.
	Age time.Duration
	// Command is the last one.
	Command string
}

// String tells who the client is.
func (c Client) String() string {
	text := c.Addr + " ("
	if c.Name != "" {
		text += fmt.Sprintf("name %q, ", c.Name)
	}
	return fmt.Sprintf("%sconnected for %s, last command %s)", text, c.Age, c.Command)
}

// Monitors reports whether the connection is in MONITOR mode.
func (c Client) Monitors() bool { return strings.Contains(c.Flags, "O") }

// sentinel is how a sentinel names its two connections to a server.
var sentinel = regexp.MustCompile(`^sentinel-[0-9a-f]{8}-(cmd|pubsub)$`)

// link reports whether it is no client but a link within a set of servers.
func (c Client) link() bool {
	return strings.ContainsAny(c.Flags, "MS") && !c.Monitors() || sentinel.MatchString(c.Name)
}

// Clients returns the connections of clients, by CLIENT LIST with arguments. It
// returns permitted as false where the user may not send that.
func Clients(ctx context.Context, do Do, arguments ...string) (clients []Client, permitted bool, err error) {
	reply, err := do(ctx, append([]string{"CLIENT", "LIST"}, arguments...)...)
	if err != nil {
		if Refused(err) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("CLIENT LIST: %w", err)
	}
	text, ok := reply.(string)
	if !ok {
		return nil, false, fmt.Errorf("CLIENT LIST: expected lines of text, got %T", reply)
	}
	clients = slices.DeleteFunc(ParseClients(text), Client.link)
	return clients, true, nil
}

// ParseClients reads the lines of CLIENT LIST or CLIENT INFO, links within a set of servers among them.
func ParseClients(text string) (clients []Client) {
	for line := range strings.Lines(text) {
		if c := parseClient(line); c.Addr != "" {
			clients = append(clients, c)
		}
	}
	return clients
}

// parseClient reads a line of CLIENT LIST. Numbers that are none become 0: they
// are for people, but for the id, where 0 is nobody's.
func parseClient(line string) Client {
	fields := map[string]string{}
	for field := range strings.FieldsSeq(line) {
		if k, v, ok := strings.Cut(field, "="); ok {
			fields[k] = v
		}
	}
	id, _ := strconv.ParseInt(fields["id"], 10, 64)
	age, _ := strconv.ParseInt(fields["age"], 10, 64)
	return Client{
		ID: id, Addr: fields["addr"], Name: fields["name"], Flags: fields["flags"],
		Age: time.Duration(age) * time.Second, Command: fields["cmd"],
	}
}

// grace is how long a client may be connected that nobody expects: one that only
// looks whether the server is alive is gone at once.
const grace = time.Second

// Strangers returns the clients that are not the run's own. They count if they
// stay for longer than a passing health check does. permitted is as of Clients.
func Strangers(ctx context.Context, do Do, own func(Client) bool) (strangers []Client, permitted bool, err error) {
	const pace = 5 * time.Millisecond
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	until := time.Now().Add(grace)
	strangers, permitted, err = Clients(ctx, do)
	strangers = slices.DeleteFunc(strangers, own)
	for err == nil && len(strangers) > 0 && time.Now().Before(until) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, permitted, ctx.Err()
		}
		var now []Client
		now, permitted, err = Clients(ctx, do)
		strangers = slices.DeleteFunc(now, func(c Client) bool {
			return !slices.ContainsFunc(strangers, func(before Client) bool { return before.ID == c.ID })
		})
	}
	return strangers, permitted, err
}

// Harmless tells which commands of strangers are no sign of use: health checks and
// monitoring tools send them, and sentinels. (MONITOR does not show those for administrators.)
func Harmless(l monitor.Line) bool {
	switch l.Name() {
	case "ping", "echo", "hello", "auth", "select", "client", "quit", "reset", "info", "command", "time", "role", "dbsize", "memory",
		"readonly", "readwrite", "lastsave":
		return true
	case "publish", "subscribe": // of sentinels, to learn of each other
		return len(l.Args) > 1 && l.Args[1] == "__sentinel__:hello"
	}
	return false
}

// Foreign is a stranger's command.
type Foreign struct{ Line monitor.Line }

// String names command, keys and client, but no values: they may be secret.
func (f Foreign) String() string {
	text := strings.ToUpper(f.Line.Name())
	for _, key := range KeysOf(f.Line) {
		text += fmt.Sprintf(" %.80q", key)
	}
	return fmt.Sprintf("%s of %s in database %d", text, f.Line.Peer, f.Line.DB)
}

// Strange keeps what strangers were seen to send. Its zero value is ready for use;
// it is for one goroutine at a time.
type Strange struct {
	// Commands are the first few.
	Commands []Foreign

	keys  map[Key]bool
	flood bool
}

// Note takes note of a stranger's line of MONITOR, of those within a script too. It
// reports whether the line is a sign of use.
func (s *Strange) Note(l monitor.Line) bool {
	if Harmless(l) {
		return false
	}
	const commands, keys = 20, 10_000
	if !l.Inner() && len(s.Commands) < commands {
		s.Commands = append(s.Commands, Foreign{l})
	}
	if s.keys == nil {
		s.keys = map[Key]bool{}
	}
	for _, name := range KeysOf(l) {
		s.keys[Key{l.DB, name}] = true
	}
	s.flood = s.flood || len(s.keys) > keys
	if s.flood {
		clear(s.keys)
	}
	return true
}

// Untouched returns those of the run's keys that no stranger has named; nil where
// there were too many commands to tell.
func (s *Strange) Untouched(ours []Key) []Key {
	if s.flood {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ours), func(k Key) bool { return s.keys[k] })
}

// Findings joins what there is of strangers to half a sentence, "" for nothing.
func Findings(keys []Key, commands []Foreign, clients []Client) string {
	var parts []string
	if len(keys) > 0 {
		parts = append(parts, "keys that this run did not make: "+few(keys))
	}
	if len(commands) > 0 {
		parts = append(parts, "commands of other clients: "+few(commands))
	}
	if len(clients) > 0 {
		parts = append(parts, "other clients: "+few(clients))
	}
	return strings.Join(parts, "; ")
}
