package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/harness/server"
	"github.com/dq-bench/dq-bench/internal/redisurl"
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
		if file := flags.Lookup(passwordFlag).Value.String(); file != "" {
			password, err := readPassword(file)
			if err != nil {
				return fmt.Errorf("--%s: %w", passwordFlag, err)
			}
			if err := eachServer(flags, passwordFlag, func(address string) (string, error) { return server.WithPassword(address, password) }); err != nil {
				return err
			}
		}
		files := redisurl.Files{
			CA: flags.Lookup(caFlag).Value.String(), Cert: flags.Lookup(certFlag).Value.String(), Key: flags.Lookup(keyFlag).Value.String(),
		}
		if files == (redisurl.Files{}) {
			return nil
		}
		return eachServer(flags, givenOf(files), func(address string) (string, error) { return server.WithFiles(address, files) })
	}
	return cmd
}

// givenOf is the flag that an error about files names.
func givenOf(files redisurl.Files) string {
	switch {
	case files.CA != "":
		return caFlag
	case files.Cert != "":
		return certFlag
	}
	return keyFlag
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

// eachServer puts what a flag says into each address that --redis names.
func eachServer(flags *pflag.FlagSet, flag string, put func(address string) (string, error)) error {
	value := flags.Lookup("redis").Value
	addresses := []string{value.String()}
	several, ok := value.(pflag.SliceValue)
	if ok {
		addresses = several.GetSlice()
	}
	found := false
	for i, address := range addresses {
		if !server.External(address) {
			continue
		}
		var err error
		if addresses[i], err = put(address); err != nil {
			return usageError(fmt.Errorf("--%s: %w", flag, err))
		}
		found = true
	}
	switch {
	case !found:
		return usageError(errors.New("--" + flag + ": expected --redis with the address of a server beside it"))
	case ok:
		return several.Replace(addresses)
	}
	return value.Set(addresses[0])
}
