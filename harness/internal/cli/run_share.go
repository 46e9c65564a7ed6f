package cli

import (
	"fmt"

	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// shareFlags are the flags of 'dq-bench run' for several machines, and for who
// looks on.
type shareFlags struct {
	worker, startAt, listen string
}

func (f *shareFlags) register(flags flagSet) {
	flags.str(&f.worker, "worker", "1/1")
	flags.str(&f.startAt, "start-at", "")
	flags.str(&f.listen, "listen", "")
}

// share checks the flags against what else was asked for. Its errors are wrong
// usage.
func (f *shareFlags) share(req *runRequest) (series.Share, error) {
	if f.listen != "" {
		if err := web.CheckAddr(f.listen); err != nil {
			return series.Share{}, fmt.Errorf("listen: %w", err)
		}
	}
	s, err := series.ParseShare(f.worker, f.startAt)
	if err != nil {
		return s, err
	}
	return s, s.Check(req.cases, req.repeat, req.options.Redis)
}
