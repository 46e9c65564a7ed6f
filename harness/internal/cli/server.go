package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

const (
	localRedis = "redis://127.0.0.1:6379" // the default address of the commands for running servers
	// startedServers are the values of --redis for a server that the command starts.
	startedServers = ", or auto, process[:PATH], container[:IMAGE]"
	ignoredKinds   = "ignored kinds" // annotates --redis with the kinds of server that its twin may not name
	passwordFlag   = "redis-password-file"
	maxPassword    = 4 << 10 // bytes of a file with a password
)

// Rights of a user of the server, as ACL SETUSER takes them. Of the keys, QUEUE stands for the names of the queues.
const (
	connectRights = "+@connection +info"
	queueKeys     = "~QUEUE ~redisson_delay_queue*"
	queueChannels = "&redisson_delay_queue_channel:*"

	doctorRights = connectRights + " +@read +multi +exec +time +pubsub|numsub +pubsub|channels +client|list +slowlog|get +config|get " + queueKeys + " ~dq_*"
	changeRights = connectRights + " +@read +multi +exec +time +@scripting +publish +pubsub|numsub +client|list " +
		"+zadd +zrem +lset +del +sadd +srem +lrem +lpush +rpush +hset +hdel +expire +setrange " + queueKeys + " ~dq_* " + queueChannels
	guardRights = connectRights + " +@read +@write +@scripting +@pubsub +time " + queueKeys + " " + queueChannels
)

// live adds --redis of the commands that look at queues which exist, and need these rights.
func (c *call) live(rights string) {
	c.rights = rights
	c.str(&c.redis, "redis", localRedis)
	_ = c.Flags().SetAnnotation("redis", ignoredKinds, []string{"auto", "container", "process", "embedded"}) // fails only without such a flag
}

// checkQueues refuses names beside --all, and empty names. Named queues override --all as a default.
func (c *call) checkQueues(all *bool, queues []string, needed bool) error {
	*all = *all && (len(queues) == 0 || c.given("all"))
	switch {
	case needed && *all == (len(queues) > 0):
		return errors.New("expected the names of queues, or --all")
	case *all && len(queues) > 0:
		return errors.New("expected the names of queues or --all, got both")
	case slices.Contains(queues, ""):
		return errors.New("expected the names of queues, got an empty name")
	}
	return nil
}

// onServer works on a server that runs. A node of a cluster is refused: other nodes have queues too.
func (c *call) onServer(work func(*redis.Server, redis.Conn) error) error {
	const expected = "expected the address of a server that runs, such as redis://127.0.0.1:6379"
	spec, err := redis.Parse(c.redis)
	if bad := new(redis.SpecError); errors.As(err, &bad) {
		return usageError(fmt.Errorf("--redis %q: %s; %s", bad.Spec, bad.Reason, expected))
	} else if spec.Kind != redis.External {
		return usageError(fmt.Errorf("--redis %s: %s: one started now would be empty", c.redis, expected))
	}
	ctx := c.Context()
	srv, err := redis.Start(ctx, c.redis, nil)
	if err != nil {
		return err
	}
	conn := srv.Conn()
	defer conn.Close()
	// A user who may not ask is not kept from what it may do.
	if info, err := conn.Do(ctx, "INFO", "cluster").Text(); !srv.Cluster() && err == nil && strings.Contains(info, "cluster_enabled:1") {
		return fmt.Errorf("the server at %s is a node of a cluster, which has queues on other nodes too: name it as redis+cluster://%s", srv.Addr, srv.Addr)
	}
	err = work(srv, conn)
	says := func(what string) bool { return err != nil && strings.Contains(err.Error(), what) }
	switch {
	case says("NOPERM"), says("EXECABORT"), says("The user executing the script can't"), says("ACL failure in script"):
		err = fmt.Errorf("the server refuses: %w; grant the user %s", err, c.rights)
	case says("READONLY"):
		info, _ := conn.Do(context.WithoutCancel(ctx), "INFO", "replication").Text()
		field := redis.Fields(info)
		err = fmt.Errorf("%w; name its master by --redis: %s", err, net.JoinHostPort(field["master_host"], field["master_port"]))
	case says("WRONGTYPE"):
		err = fmt.Errorf("%w; 'dq-bench doctor QUEUE' names the key", err)
	}
	return err
}

// addPassword gives a command with --redis a flag for the server's password, which a command line would show in the process list.
func addPassword(c *call) {
	var file string
	c.str(&file, passwordFlag, "")
	c.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if file == "" {
			return nil
		}
		password, err := readSecret(cmd.Context(), "password", file)
		if err != nil && !cmd.Flags().Changed(passwordFlag) && !strings.Contains(cmd.Flag("redis").Value.String(), "://") {
			return nil // no address needs it
		} else if err != nil {
			return named("--"+passwordFlag, err)
		}
		return setPassword(cmd.Flags(), password)
	}
}

// readSecret reads a password or a token from a file of one line.
func readSecret(ctx context.Context, what, name string) (string, error) {
	content, err := text.ReadFile(ctx, name, maxPassword)
	secret := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if err == nil && (secret == "" || strings.ContainsAny(secret, "\r\n\x00")) {
		err = fmt.Errorf("%s: expected one line with a %s of at most %d bytes", name, what, maxPassword)
	}
	return secret, err
}

// setPassword puts the password into each address that --redis names. A password file from the environment is a default
// for addresses: a --redis without an address does without.
func setPassword(flags *pflag.FlagSet, password string) error {
	value := flags.Lookup("redis").Value
	addresses, replace := []string{value.String()}, func(one []string) error { return value.Set(one[0]) }
	if list, several := value.(pflag.SliceValue); several {
		addresses, replace = list.GetSlice(), list.Replace
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
			return usageError(named("--"+passwordFlag, err))
		}
		addresses[i], found = address.String(), true
	}
	if !found && flags.Changed(passwordFlag) {
		return usageError(errors.New("--" + passwordFlag + ": expected --redis with the address of a server beside it"))
	}
	return replace(addresses)
}

// checkOneReal refuses what is not one real Redis, which verify and record need.
func checkOneReal(address string) error {
	spec, _ := redis.Parse(address) // checkByTCP says what is wrong
	switch {
	case spec.Kind == redis.Embedded:
		return usageError(errors.New("--redis embedded: expected a real Redis: the embedded server is an imitation, and process starts a real one"))
	case spec.Kind == redis.External && spec.Address.Topology != redis.Single:
		return usageError(fmt.Errorf("--redis %s: expected one server: name the address of a master", redis.Redact(address)))
	}
	return checkByTCP(address)
}

// checkByTCP refuses a Unix socket: all its clients have one address, and commands cannot be told apart.
func checkByTCP(address string) error {
	spec, err := redis.Parse(address)
	if err == nil && !spec.Address.Unix {
		return nil
	}
	return usageError(cmp.Or(err, fmt.Errorf("--redis %s: expected a host and a port: by a socket all clients have one address, and whose command is whose cannot be told", redis.Redact(address))))
}
