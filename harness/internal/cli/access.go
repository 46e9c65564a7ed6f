package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

const (
	// localRedis is the default address of the commands for running servers.
	localRedis = "redis://127.0.0.1:6379"
	// ignoredKinds annotates --redis with the kinds of server that its twin may not name.
	ignoredKinds = "ignored kinds"
	passwordFlag = "redis-password-file"
	// maxPassword bounds a file with a password, in bytes.
	maxPassword = 4 << 10
)

// liveServerVar is --redis of the commands that look at queues which exist.
func liveServerVar(f flagSet, address *string) {
	f.str(address, "redis", localRedis)
	_ = f.SetAnnotation("redis", ignoredKinds, []string{"auto", "container", "process", "embedded"}) // fails only without such a flag
}

// allOf reports whether all queues are asked for. Named queues override --all as a default.
func allOf(f *pflag.FlagSet, all bool, queues []string) bool {
	return all && (len(queues) == 0 || f.Changed("all"))
}

// checkLiveServer is an error where --redis would start a server.
func checkLiveServer(address string) error {
	if spec, err := redis.Parse(address); err != nil || spec.Kind == redis.External {
		return err
	}
	return fmt.Errorf("--redis %s: expected the address of a server that runs, such as redis://127.0.0.1:6379: one started now would be empty", address)
}

// startLive connects to a server that runs. A node of a cluster is refused: other nodes have queues too, and nothing
// would tell.
func startLive(ctx context.Context, address string) (*redis.Server, error) {
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

// addPassword gives a command with --redis a flag for the server's password, which a command line would show in the process
// list.
func addPassword(cmd *cobra.Command) {
	var file string
	flagsOf(cmd).str(&file, passwordFlag, "")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if file == "" {
			return nil
		}
		password, err := readPassword(cmd.Context(), file)
		if err != nil {
			return fmt.Errorf("--%s: %w", passwordFlag, err)
		}
		return setPassword(cmd.Flags(), password)
	}
}

// readPassword reads a file of one line.
func readPassword(ctx context.Context, name string) (string, error) {
	content, err := text.ReadFile(ctx, name, maxPassword)
	password := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if err == nil && (password == "" || strings.ContainsAny(password, "\r\n\x00")) {
		err = fmt.Errorf("%s: expected one line with a password of at most %d bytes", name, maxPassword)
	}
	return password, err
}

// setPassword puts the password into each address that --redis names. A password file from the environment is a default
// for addresses: a --redis without an address does without.
func setPassword(flags *pflag.FlagSet, password string) error {
	value := flags.Lookup("redis").Value
	addresses, several := []string{value.String()}, false
	var list pflag.SliceValue
	if list, several = value.(pflag.SliceValue); several {
		addresses = list.GetSlice()
	}
	found := false
	for i, given := range addresses {
		spec, err := redis.Parse(given)
		if given != "" && err != nil {
			return usageError(err)
		}
		if spec.Kind != redis.External {
			continue
		}
		address, err := spec.Address.WithPassword(password)
		if err != nil {
			return usageError(fmt.Errorf("--%s: %w", passwordFlag, err))
		}
		addresses[i], found = address.String(), true
	}
	switch {
	case !found && flags.Changed(passwordFlag):
		return usageError(errors.New("--" + passwordFlag + ": expected --redis with the address of a server beside it"))
	case several:
		return list.Replace(addresses)
	case !found:
		return nil
	}
	return value.Set(addresses[0])
}

// checkOneReal refuses what is not one real Redis, which verify and record need.
func checkOneReal(address string) error {
	spec, err := redis.Parse(address)
	switch {
	case err == nil && spec.Kind == redis.Embedded:
		return usageError(errors.New("--redis embedded: expected a real Redis: the embedded server is an imitation, and process starts a real one"))
	case err == nil && spec.Kind == redis.External && spec.Address.Topology != redis.Single:
		return usageError(fmt.Errorf("--redis %s: expected one server: name the address of a master", redis.Redact(address)))
	}
	return checkByTCP(address)
}

// checkByTCP refuses a Unix socket: all its clients have one address, and commands cannot be told apart.
func checkByTCP(address string) error {
	if spec, err := redis.Parse(address); err != nil || !spec.Address.Unix {
		return nil //nolint:nilerr // Start says what is wrong
	}
	return usageError(fmt.Errorf("--redis %s: expected a host and a port: by a socket all clients have one address, and whose command is whose cannot be told", redis.Redact(address)))
}
