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
)

const passwordFlag = "redis-password-file"

// maxPassword bounds a file with a password, in bytes.
const maxPassword = 4 << 10

// withPasswordFile gives a command whose --redis may be the address of a server a flag for
// that server's password: on a command line everybody on the machine can read it.
func withPasswordFile(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().String(passwordFlag, "", "file with the password for --redis, which a command line would show to everybody on the machine")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		file := cmd.Flags().Lookup(passwordFlag).Value.String()
		if file == "" {
			return nil
		}
		password, err := readPassword(file)
		if err != nil {
			return fmt.Errorf("--%s: %w", passwordFlag, err)
		}
		return usePassword(cmd.Flags(), password)
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

// usePassword puts the password into each address that --redis names.
func usePassword(flags *pflag.FlagSet, password string) error {
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
		if addresses[i], err = server.WithPassword(address, password); err != nil {
			return usageError(fmt.Errorf("--%s: %w", passwordFlag, err))
		}
		found = true
	}
	switch {
	case !found:
		return usageError(errors.New("--" + passwordFlag + ": expected --redis with the address of a server beside it"))
	case ok:
		return several.Replace(addresses)
	}
	return value.Set(addresses[0])
}
