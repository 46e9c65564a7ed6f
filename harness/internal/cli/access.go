package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/internal/redisurl"
	"github.com/dq-bench/dq-bench/internal/server"
)

const (
	passwordFlag = "redis-password-file"
	caFlag       = "redis-ca"
	certFlag     = "redis-cert"
	keyFlag      = "redis-key"
)

// maxPassword bounds a file with a password, in bytes.
const maxPassword = 4 << 10

// withAccess gives a command whose --redis may be the address of a server flags for how to get in there: for
// that server's password, which everybody on the machine can read on a command line, and for files of TLS.
func withAccess(cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.String(passwordFlag, "", "file with the password for --redis, which a command line would show to everybody on the machine")
	flags.String(caFlag, "", "PEM file with the authority that the certificate of --redis rediss://… is trusted by")
	flags.String(certFlag, "", "PEM file with the client's certificate for --redis rediss://…")
	flags.String(keyFlag, "", "PEM file with the key of --"+certFlag)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		var all []access
		if file := flags.Lookup(passwordFlag).Value.String(); file != "" {
			password, err := readPassword(file)
			if err != nil {
				return fmt.Errorf("--%s: %w", passwordFlag, err)
			}
			all = append(all, access{passwordFlag, func(address string) (string, error) { return server.WithPassword(address, password) }})
		}
		files := redisurl.Files{
			CA: flags.Lookup(caFlag).Value.String(), Cert: flags.Lookup(certFlag).Value.String(), Key: flags.Lookup(keyFlag).Value.String(),
		}
		if (files.Cert == "") != (files.Key == "") {
			there, lacks := certFlag, keyFlag
			if files.Cert == "" {
				there, lacks = lacks, there
			}
			return usageError(fmt.Errorf("--%s: a client's certificate and its key belong together, --%s is missing", there, lacks))
		}
		if files != (redisurl.Files{}) {
			all = append(all, access{givenOf(files), func(address string) (string, error) { return server.WithFiles(address, files) }})
		}
		if !flags.Changed(passwordFlag) && !flags.Changed(caFlag) && !flags.Changed(certFlag) && !namesAddress(flags) {
			return nil // defaults for other servers
		}
		return eachServer(flags, all)
	}
	return cmd
}

// givenOf is the flag that an error about files names.
func givenOf(files redisurl.Files) string {
	if files.CA != "" {
		return caFlag
	}
	return certFlag
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

// access is a flag, and what puts what it says into an address.
type access struct {
	flag string
	put  func(address string) (string, error)
}

// eachServer puts what flags say into each address that --redis names. An error shows the address as it was given.
func eachServer(flags *pflag.FlagSet, all []access) error {
	if len(all) == 0 {
		return nil
	}
	value := flags.Lookup("redis").Value
	addresses := []string{value.String()}
	several, ok := value.(pflag.SliceValue)
	if ok {
		addresses = several.GetSlice()
	}
	found := false
	for i, given := range addresses {
		if err := server.CheckSpec(given); given != "" && err != nil {
			return usageError(err)
		}
		if !server.External(given) {
			continue
		}
		for _, a := range all {
			_, err := a.put(given)
			if err == nil {
				addresses[i], err = a.put(addresses[i])
			}
			if err != nil {
				return usageError(fmt.Errorf("--%s: %w", a.flag, err))
			}
		}
		found = true
	}
	switch {
	case !found:
		return usageError(errors.New("--" + all[0].flag + ": expected --redis with the address of a server beside it"))
	case ok:
		return several.Replace(addresses)
	}
	return value.Set(addresses[0])
}

// namesAddress reports whether --redis has the address of a server.
func namesAddress(flags *pflag.FlagSet) bool {
	value := flags.Lookup("redis").Value
	if several, ok := value.(pflag.SliceValue); ok {
		return slices.ContainsFunc(several.GetSlice(), server.External)
	}
	return server.External(value.String())
}

// checkByTCP is an error for the address of a Unix socket, of a command that tells clients apart.
func checkByTCP(address string) error {
	if !server.Socket(address) {
		return nil
	}
	return usageError(fmt.Errorf("--redis %s: expected a host and a port: by a socket all clients have one address, and whose command is whose cannot be told", redisurl.Redact(address)))
}
