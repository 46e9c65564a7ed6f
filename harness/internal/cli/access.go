package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/internal/redis"
)

const passwordFlag = "redis-password-file"

// maxPassword bounds a file with a password, in bytes.
const maxPassword = 4 << 10

// withAccess gives a command whose --redis may be the address of a server a flag for the password of that server,
// which a command line would show in the process list.
func withAccess(cmd *cobra.Command) *cobra.Command {
	var file string
	flagsOf(cmd).str(&file, passwordFlag, "")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if file == "" {
			return nil
		}
		password, err := readPassword(file)
		if err != nil {
			return fmt.Errorf("--%s: %w", passwordFlag, err)
		}
		return eachServer(cmd.Flags(), password)
	}
	return cmd
}

// readPassword reads a file of one line.
func readPassword(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxPassword+1))
	if err != nil {
		return "", err
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if password == "" || len(content) > maxPassword || strings.ContainsAny(password, "\r\n\x00") {
		return "", fmt.Errorf("%s: expected one line with a password of at most %d bytes", name, maxPassword)
	}
	return password, nil
}

// eachServer puts the password into each address that --redis names. An error shows the address as it was given.
// A password file from the environment is a default for addresses: it does not matter if --redis has none.
func eachServer(flags *pflag.FlagSet, password string) error {
	value := flags.Lookup("redis").Value
	addresses := []string{value.String()}
	several, ok := value.(pflag.SliceValue)
	if ok {
		addresses = several.GetSlice()
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
	case !found:
		return nil
	case ok:
		return several.Replace(addresses)
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
	spec, err := redis.Parse(address)
	if err != nil || !spec.Address.Unix {
		return nil //nolint:nilerr // Start says what is wrong
	}
	return usageError(fmt.Errorf("--redis %s: expected a host and a port: by a socket all clients have one address, and whose command is whose cannot be told", redis.Redact(address)))
}
