package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
	"github.com/dq-bench/dq-bench/internal/text"
)

// probeTimeout bounds one attempt to reach a server that should be there.
var probeTimeout = 3 * time.Second

// Dial connects to one server of an address, logs in and sends greetings, such as an ECHO that MONITOR shows, within 3 s: for MONITOR,
// and for a caller with bytes of its own. Behind sentinels the server is the master, of a Cluster the first node that answers.
func Dial(ctx context.Context, address string, greetings ...[]string) (net.Conn, error) {
	a, err := loaded(address)
	if err != nil {
		return nil, err
	}
	if a, err = a.master(ctx); err != nil {
		return nil, err
	}
	c, _, err := a.first(ctx, greetings...)
	if err != nil {
		return nil, a.explain(err)
	}
	return c, nil
}

// first is open of the first host that answers each command. Each host has its share of the time.
func (a Address) first(ctx context.Context, commands ...[]string) (c net.Conn, reply any, err error) {
	var errs []error
	for _, addr := range a.Hosts {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout/time.Duration(len(a.Hosts)))
		defer cancel()
		if c, reply, err = a.open(ctx, addr, commands...); err == nil {
			return c, reply, nil
		}
		errs = append(errs, err)
	}
	return nil, nil, errors.Join(errs...)
}

// dial connects to one server of the address. It bounds each reply.
func (a Address) dial(ctx context.Context, addr string) (net.Conn, error) {
	network := "tcp"
	if a.Unix {
		network = "unix"
	}
	dialer := (&net.Dialer{}).DialContext
	if a.TLS {
		dialer = (&tls.Dialer{Config: a.trust.Clone()}).DialContext
	}
	c, err := dialer(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return newBounded(c, maxReply), nil
}

// open is dial with AUTH, SELECT and commands done. It returns the last reply; a null is an error.
func (a Address) open(ctx context.Context, addr string, commands ...[]string) (c net.Conn, reply any, err error) {
	if c, err = a.dial(ctx, addr); err != nil {
		return nil, nil, err
	}
	if a.username != "" || a.password != "" {
		// A server whose default user has no password accepts any password in this form, and in go-redis's HELLO.
		_, err = ask(ctx, c, "AUTH", cmp.Or(a.username, "default"), a.password)
		if err != nil && a.username == "" && strings.Contains(err.Error(), "wrong number of arguments") { // Redis before 6.0
			_, err = ask(ctx, c, "AUTH", a.password)
		}
	}
	if a.Database != 0 {
		commands = append([][]string{{"SELECT", strconv.Itoa(a.Database)}}, commands...)
	}
	for i := 0; i < len(commands) && err == nil; i++ {
		if reply, err = ask(ctx, c, commands[i]...); err == nil && reply == nil {
			err = Nil
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, reply, nil
}

// ask sends a command and returns its reply; an error reply is an error. Nothing may follow the reply.
func ask(ctx context.Context, c net.Conn, command ...string) (any, error) {
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if _, err := c.Write(resp.AppendCommand(nil, command...)); err != nil {
		return nil, err
	}
	reply, err := resp.NewReader(c, 0).Read()
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	if refused, ok := reply.(resp.Error); ok {
		return nil, fmt.Errorf("%s: %w", command[0], refused)
	}
	return reply, nil
}

// info returns INFO server of one server of the address.
func (a Address) info(ctx context.Context, addr string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, _, err := a.open(ctx, addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := ask(ctx, c, "PING"); err != nil && !HasErrorPrefix(err, "NOPERM") && !HasErrorPrefix(err, "MISCONF") { // which refuses writes, and PING
		return "", err
	}
	info, err := ask(ctx, c, "INFO", "server")
	refused := HasErrorPrefix(err, "NOPERM")
	if err != nil && (refused || strings.Contains(err.Error(), "unknown command")) { // it names itself by HELLO: server, NAME, version, VERSION
		hello, _ := ask(ctx, c, "HELLO", "2")
		if said, ok := hello.([]any); ok && len(said) > 3 {
			info, err = fmt.Sprintf("server_name:%v\n%v_version:%v\n", said[1], said[1], said[3]), nil
		} else if refused {
			info, err = "redis_version:unknown\n", nil
		}
	}
	return fmt.Sprint(info), err
}

// master returns the address of the master, which it asks the sentinels for in turn; of no sentinels the address itself.
func (a Address) master(ctx context.Context) (Address, error) {
	if a.Topology != Sentinel {
		return a, nil
	}
	sentinel := a
	sentinel.username, sentinel.password, sentinel.Database = "", a.sentinelPassword, 0
	c, reply, err := sentinel.first(ctx, []string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", a.Master})
	if errors.Is(err, Nil) {
		return a, fmt.Errorf("the sentinels at %s watch no master %q: check the name", strings.Join(a.Hosts, ","), a.Master)
	} else if err != nil {
		return a, a.explain(err)
	}
	at, _ := reply.([]any)
	if len(at) != 2 {
		return a, a.explain(errors.Join(fmt.Errorf("the master is %v", reply), c.Close()))
	}
	return a.At(net.JoinHostPort(fmt.Sprint(at[0]), fmt.Sprint(at[1]))), c.Close()
}

// AtMaster is the address of the master behind sentinels; a itself without sentinels, or if these do not answer.
func (a Address) AtMaster(ctx context.Context) Address {
	at, err := a.loaded()
	if err == nil {
		at, err = at.master(ctx)
	}
	if err != nil {
		return a
	}
	return at
}

// Files name PEM files of this machine: the authorities to trust instead of the system's, and the client's certificate with its
// key. Each may be empty.
type Files struct{ CA, Cert, Key string }

// mostPEM bounds a file, in bytes. All authorities of a system take a quarter of it.
const mostPEM = 1 << 20

// loaded returns the address with its files for TLS read.
func (a Address) loaded() (_ Address, err error) {
	if a.TLS {
		a.trust, err = a.Files.Load()
	}
	return a, err
}

// Load reads the files.
func (f Files) Load() (*tls.Config, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		authorities, err := text.ReadFile(context.Background(), f.CA, mostPEM)
		if err != nil {
			return nil, fmt.Errorf("the authority's certificate: %w", err)
		}
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("the authority's certificate: expected PEM with a certificate in %s", f.CA)
		}
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("the certificate %s with the key %s: %w", f.Cert, f.Key, OneLine(err))
		}
		trust.Certificates = []tls.Certificate{pair}
	}
	return trust, nil
}
