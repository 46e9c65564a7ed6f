package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/codec/gen"
)

// generation is what `codec gen` makes Go types of.
type generation struct {
	samples []string // files with the bytes of a value
	classes []string
	jar     string // or a folder
	pkg     string
}

func newCodecGenCmd() *cobra.Command {
	var g generation
	cmd := &cobra.Command{
		Use:   "gen [SAMPLE...]",
		Short: "Write the Go types for the classes of a value, or of a jar",
		Long: `Writes Go source with a struct for each class, and the serialVersionUIDs and tags of package dq/codec.
--class and --jar read a class, its superclasses and the classes of its fields from a jar or a folder of class
files, which is exact. A SAMPLE is a file with a value of SerializationCodec or MarshallingCodec; more samples
show the types of fields that are null in some. A field without a Go type is left out, and a comment says so.

Exit codes: 1 a sample or a class file cannot be read.`,
		Example: `  dq-bench codec gen --class com.acme.Order --jar app.jar --package orders > orders/types.go
  dq-bench codec gen order.bin refund.bin`,
		RunE: func(cmd *cobra.Command, args []string) error {
			g.samples = args
			if given := cmd.Flags().Changed; len(args) > 0 && !given("jar") && !given("class") {
				g.jar, g.classes = "", nil // defaults for other commands
			}
			classes, err := g.read(cmd.Context())
			if err != nil {
				return err
			}
			source, err := gen.Source(g.pkg, classes)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(source)
			return err
		},
	}
	flags := flagsOf(cmd)
	flags.list(&g.classes, "class")
	flags.str(&g.jar, "jar", "")
	flags.str(&g.pkg, "package", "messages")
	return cmd
}

func (g generation) read(ctx context.Context) ([]codec.JavaClass, error) {
	switch fromJar := g.jar != "" || len(g.classes) > 0; {
	case fromJar == (len(g.samples) > 0):
		return nil, usageError(errors.New("expected either files with the bytes of a value, or --class and --jar"))
	case fromJar && (g.jar == "" || len(g.classes) == 0):
		return nil, usageError(errors.New("expected --class and --jar, both of them"))
	case fromJar:
		return classfile.Load(g.jar, g.classes...)
	}
	var samples [][]byte
	for _, name := range g.samples {
		data, err := readSample(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("sample: %w", err)
		}
		samples = append(samples, data)
	}
	_, classes, err := codec.Describe(samples...)
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	return classes, nil
}

// maxSample bounds a sample, in bytes.
const maxSample = 16 << 20

// readSample reads a file, and no more of it than one can have. It does not wait longer than ctx for a pipe to which
// nobody writes.
func readSample(ctx context.Context, name string) ([]byte, error) {
	var data []byte
	done := make(chan error, 1)
	go func() {
		var err error
		data, err = readAtMost(name, maxSample)
		done <- err
	}()
	select {
	case err := <-done:
		return data, err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w before the end of it", name, ctx.Err())
	}
}

func readAtMost(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: expected the bytes of a value, at most %d MiB", name, most>>20)
	}
	return data, err
}
