package adopt

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// columnTimeout bounds the build of a checkout and a column of the matrix.
const columnTimeout = 30 * time.Minute

// Column has the checkout, into which a release was written, run its column of the matrix and
// put it into the table. The program is built anew, for the dq of this one does not know the
// release. It needs Go. redis is the value of --redis, and log gets what the build and the run
// have to say.
func (c *Checkout) Column(ctx context.Context, release wire.Release, redis string, log io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, columnTimeout)
	defer cancel()
	work, err := os.MkdirTemp("", "dq-bench-adopt-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	built := filepath.Join(work, "dq-bench")
	for _, command := range [][]string{
		{"go", "build", "-o", built, "./cmd/dq-bench"},
		{built, "matrix", "--releases", release.String(), "--redis", redis, "--into", filepath.FromSlash(matrixFile)},
	} {
		if err := c.exec(ctx, log, command); err != nil {
			return fmt.Errorf("%s in %s: %w", filepath.Base(command[0])+" "+command[1], c.dir, err)
		}
	}
	return nil
}

// exec runs a command in the checkout, and interrupts it when ctx ends, so that it stops the
// programs that it has started.
func (c *Checkout) exec(ctx context.Context, log io.Writer, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd.Run()
}
