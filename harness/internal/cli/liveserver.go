package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/internal/redis"
)

const (
	// localRedis is the default address of the commands for running servers.
	localRedis = "redis://127.0.0.1:6379"
	// addressOnly annotates a flag whose twin must not name a server to start.
	addressOnly = "address only"
)

// liveServerVar is --redis of the commands that look at queues which exist.
func liveServerVar(f flagSet, address *string) {
	defer func() { _ = f.SetAnnotation("redis", addressOnly, []string{}) }() // fails only without such a flag
	f.str(address, "redis", localRedis)
}

// allOf reports whether all queues are asked for. Named queues override --all as a default.
func allOf(f *pflag.FlagSet, all bool, queues []string) bool {
	return all && (len(queues) == 0 || f.Changed("all"))
}

// checkLiveServer is an error where --redis would start a server.
func checkLiveServer(address string) error {
	spec, err := redis.Parse(address)
	if err != nil {
		return err
	}
	if spec.Kind != redis.External {
		return fmt.Errorf("--redis %s: expected the address of a server that runs, such as redis://127.0.0.1:6379: one started now would be empty", address)
	}
	return nil
}

// startLive connects to a server that runs. One node of a cluster is refused: its queues are not all, and
// nothing would tell.
func startLive(ctx context.Context, address string) (*redis.Server, error) {
	silenceRedis()
	srv, err := redis.Start(ctx, address, nil)
	if err != nil || srv.Cluster() {
		return srv, err
	}
	conn := srv.Conn()
	defer conn.Close()
	// A user who may not ask is not kept from what it may do.
	if info, err := conn.Do(ctx, "INFO", "cluster").Text(); err == nil && strings.Contains(info, "cluster_enabled:1") {
		_ = srv.Close()
		return nil, fmt.Errorf("the server at %s is a node of a cluster, which has queues on other nodes too: name it as redis+cluster://%s", srv.Addr, srv.Addr)
	}
	return srv, nil
}
