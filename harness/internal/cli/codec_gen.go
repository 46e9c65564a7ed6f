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
		Use:   "gen --from sample.bin | --class demo.Order --jar app.jar",
		Short: "Write the Go types for the classes of a value, or of a jar",
		Long: `Gen writes Go source with a struct for each class, and the serialVersionUIDs and tags
that package dq/codec wants.

--class and --jar take a class, and those that it extends and that its fields refer to, from
the class files of a jar or a folder. They tell all that there is to know; a generic
class is a generic struct.

--from takes a value of SerializationCodec or MarshallingCodec, which name the fields of their
objects; several tell more of the types of what is null in some.

A field that no Go type stands for is left out; a comment says so, and the option lacks of the
class's tag, by which nothing is written that Java would read null in, or misread from Kryo5.

Exit codes: 0; 1 a sample or a class file cannot be read.`,
		Example: `  dq-bench codec gen --class com.acme.Order --jar app.jar --package orders > orders/types.go
  dq-bench codec gen --from order.bin --from refund.bin`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if given := cmd.Flags().Changed; given("from") && !given("jar") && !given("class") {
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
	flags := cmd.Flags()
	flags.StringArrayVar(&g.samples, "from", nil, "a file with the bytes of a value; may be given several times")
	flags.StringArrayVar(&g.classes, "class", nil, "the full name of a class in --jar, with $ for one inside another; may be given several times")
	flags.StringVar(&g.jar, "jar", "", "a jar, or a folder of class files")
	flags.StringVar(&g.pkg, "package", "messages", "the name of the Go package")
	return cmd
}

func (g generation) read(ctx context.Context) ([]codec.JavaClass, error) {
	switch fromJar := g.jar != "" || len(g.classes) > 0; {
	case fromJar == (len(g.samples) > 0):
		return nil, usageError(errors.New("expected either --from with the bytes of a value, or --class and --jar"))
	case fromJar && (g.jar == "" || len(g.classes) == 0):
		return nil, usageError(errors.New("expected --class and --jar, both of them"))
	case fromJar:
		return classfile.Load(g.jar, g.classes...)
	}
	var samples [][]byte
	for _, name := range g.samples {
		data, err := readSample(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		samples = append(samples, data)
	}
	_, classes, err := codec.Describe(samples...)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	return classes, nil
}

// maxSample bounds a file of --from, in bytes.
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
