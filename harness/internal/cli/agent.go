package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
)

func newAgent() *call {
	c := newCall("agent", onlyFlags)
	var join, tokenFile string
	c.str(&join, "join", "")
	c.str(&tokenFile, "token-file", "")
	c.check = func([]string) (err error) {
		if join == "" || tokenFile == "" {
			return errors.New("expected --join and --token-file")
		}
		c.at, err = load.ParseServer(join)
		return named("--join", err)
	}
	return c.does(func([]string) error {
		token, err := readSecret(c.Context(), "token", tokenFile)
		if err != nil {
			return named("--token-file", err)
		}
		c.warnPlain()
		return c.beAgent(c.at, token)
	})
}

// An agent waits for the first run to listen, and for the next one to follow.
const firstRun, nextRun = 2 * time.Minute, time.Second

// beAgent serves one run after the other, until there is no further run.
func (c *call) beAgent(addr load.Address, token string) error {
	ctx := c.Context()
	c.notice("joining %s; waits up to %v for a run", addr, firstRun)
	for patience := firstRun; ; patience = nextRun {
		serving := false
		err := load.Join(ctx, addr, token, patience, func(name string, conn io.ReadWriter) error {
			serving = true
			c.notice("serving %s for %s", name, addr)
			return c.serveFor(name, conn)
		})
		switch {
		case ctx.Err() != nil && serving:
			return fmt.Errorf("interrupted in the middle of a run of %s, which loses this agent's share", addr)
		case ctx.Err() != nil && patience == firstRun:
			return errors.New("interrupted before a run began")
		case patience == nextRun && errors.Is(err, load.ErrNoDoor) || ctx.Err() != nil:
			return nil //nolint:nilerr // the last run has ended
		case err != nil:
			return err
		}
	}
}

// serveFor serves a driver on a connection. The side that runs the load names the driver: a command line is not taken from there.
func (c *call) serveFor(name string, conn io.ReadWriter) error {
	d, err := spec.Parse(name)
	if err != nil {
		return err
	}
	s, isProgram := d.(spec.Program)
	if !isProgram || s.IsLibrary() {
		return d.Serve(conn, conn)
	}
	command, err := s.Command(c.Context(), func(line string) { c.notice("%s", line) })
	if err != nil {
		return err
	}
	return program.Pipe(c.Context(), command, conn, c.ErrOrStderr())
}
