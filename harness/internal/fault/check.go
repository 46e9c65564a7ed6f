package fault

import (
	"context"
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Check refuses a --redis value on which one of the faults can never be done. Its error is
// wrong usage.
func Check(spec string, faults []plan.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	wanted, err := redis.Parse(spec)
	if err != nil {
		return err
	}
	for _, f := range faults {
		reach := f.Info().Reach
		switch {
		case wanted.Kind == redis.External && !wanted.Address.Plain():
			return fmt.Errorf("faults: %s: expected one server by TCP without TLS, whose connections can go through a proxy, got --redis %s", f.Kind, redis.Redact(spec))
		case wanted.Kind == redis.External && reach > plan.Network:
			return fmt.Errorf("faults: %s would do harm to others on %s: expected a server of our own, such as --redis process", f.Kind, redis.Redact(spec))
		case wanted.Kind == redis.Embedded && reach > plan.Network:
			return fmt.Errorf("faults: %s: the embedded server cannot do that, use --redis process", f.Kind)
		case wanted.Kind == redis.Container && reach >= plan.ServerProcess:
			return fmt.Errorf("faults: %s: expected a process that can be sent signals, got --redis %s: use --redis process", f.Kind, spec)
		}
	}
	return nil
}

// Start starts the server that --redis and the faults ask for: where auto is given, and more
// than the network is to break, that is a process.
func Start(ctx context.Context, spec string, faults []plan.Fault, notice func(string)) (*redis.Server, error) {
	if err := Check(spec, faults); err != nil {
		return nil, err
	}
	wanted, err := redis.Parse(spec)
	if err != nil {
		return nil, err
	}
	beyond := slices.ContainsFunc(faults, func(f plan.Fault) bool { return f.Info().Reach > plan.Network })
	if beyond && (wanted.Kind == redis.Auto || wanted.Kind == redis.Process) {
		return redis.StartProcess(ctx, wanted.Arg, arguments(faults)...)
	}
	return redis.Start(ctx, spec, notice)
}

// keyLoadDelay is how long a server that is to be loading takes for each command of its file,
// in µs.
const keyLoadDelay = 100

// arguments are those that a server needs for its faults.
func arguments(faults []plan.Fault) []string {
	aof, delay := "", ""
	for _, f := range faults {
		switch {
		case f.Kind == plan.Loading:
			delay = fmt.Sprint(keyLoadDelay)
			if aof == "" {
				aof = "always"
			}
		case f.AOF != "":
			aof = f.AOF
		}
	}
	var args []string
	if aof != "" && aof != "off" {
		args = append(args, "--appendonly", "yes", "--appendfsync", aof)
	}
	if delay != "" {
		args = append(args, "--key-load-delay", delay)
	}
	return args
}
