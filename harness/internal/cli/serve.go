package cli

import (
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

func newServe() *call {
	c := newCall("serve", needs(1, 1))
	c.str(&c.listen, "listen", "127.0.0.1:0")
	c.check = func([]string) error { return c.checkListen() }
	return c.does(func(args []string) error {
		stored, err := web.NewStored(args[0])
		if err != nil {
			return err
		}
		server, err := web.Serve(c.Context(), c.listen, stored, web.MetricsHandler(tool(), web.LoadMetrics{Run: &load.Live{}}), nil)
		if err != nil {
			return err
		}
		c.notice("runs of %s at %s", args[0], server.URL())
		<-c.Context().Done()
		return server.Close()
	})
}

// newServeDriver is what 'dq-bench run' starts for a member of a fleet: an implementation in a process of its own, which
// speaks the driver protocol.
func newServeDriver() *call {
	c := newCall("serve-driver", needs(1, 1))
	return c.does(func(args []string) error {
		d, err := spec.Parse(args[0])
		if err != nil {
			return usageError(err)
		}
		return d.Serve(c.InOrStdin(), c.OutOrStdout())
	})
}
