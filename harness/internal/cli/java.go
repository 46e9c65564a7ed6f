package cli

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/values"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/text"
)

// javaFlags say which classes and which Redisson Java reads values with.
type javaFlags struct {
	classPath []string
	release   string // or two, OLD:NEW
}

func (f *javaFlags) add(flags flagSet) {
	flags.list(&f.classPath, "classpath")
	flags.str(&f.release, "release", "")
}

func (f javaFlags) given() bool { return len(f.classPath) > 0 || f.release != "" }

// start starts Java. Without --release, the Redisson on the class path reads and writes.
func (f javaFlags) start(ctx context.Context, stderr io.Writer) (*values.Client, error) {
	var command []string
	var err error
	if named := os.Getenv("DQ_JAVA"); named != "" {
		if command, err = program.SplitCommandLine(named); err != nil {
			return nil, usageError(fmt.Errorf("DQ_JAVA: %w", err))
		}
	}
	if !f.given() {
		return nil, usageError(errors.New("expected --classpath, the application with its Redisson, " +
			"or --release, such as 3.16.6:4.7.0: the Redisson that writes today, and the one that will read"))
	}
	o := values.Options{Java: command, ClassPath: f.classPath}
	if f.release != "" {
		if values.Elsewhere(command) > 0 {
			return nil, usageError(fmt.Errorf("--release %s: its jars are not where %q starts Java; leave it out, and name the jars there by --classpath", f.release, os.Getenv("DQ_JAVA")))
		}
		old, fresh, two := strings.Cut(f.release, ":")
		if !two {
			fresh = old
		}
		for version, jars := range map[string]*[]string{old: &o.Old, fresh: &o.New} {
			release, err := wire.LookupRelease(version)
			if err != nil {
				return nil, usageError(fmt.Errorf("--release: %w", err))
			}
			if *jars, err = redisson.Jars(ctx, release, func(line string) { fmt.Fprintln(stderr, line) }); err != nil {
				return nil, err
			}
		}
		if !two {
			o.Old = o.New
		}
	}
	return values.Start(ctx, o)
}

// lacks is the error about a codec that a Redisson cannot use; nil for one that it can, and for the name of a class.
func lacks(name, version string, codecs []string) error {
	if version == "" {
		return usageError(errors.New("--classpath has no Redisson: add its jars, or name one by --release"))
	}
	for part := range strings.SplitSeq(name, "/") {
		if !strings.Contains(part, ".") && !slices.Contains(codecs, part) {
			return usageError(fmt.Errorf("--codec: Redisson %s has no codec %q that works here%s; there are %s, one in another, such as lz4/kryo5, and the full names of classes",
				version, part, text.DidYouMean(part, codecs), strings.Join(codecs, ", ")))
		}
	}
	return nil
}

// decodeByJava prints a value as the application's Redisson reads it.
func decodeByJava(cmd *cobra.Command, java javaFlags, name, class string, data []byte, asJSON bool) error {
	client, err := java.start(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer client.Close()
	if name == "" {
		if name = values.Detect(data).Likeliest(); name == values.Unknown {
			return usageError(errors.New("the bytes do not tell which codec wrote them: --codec names it"))
		}
	}
	if err := lacks(name, client.Old, client.OldCodecs); err != nil {
		return err
	}
	replies, err := client.Do(cmd.Context(), values.Request{"verb": "decode", "codec": name, "class": class, "value": data})
	if err != nil {
		return err
	}
	r := replies[0]
	if err := r.Err(); err != nil {
		return fmt.Errorf("the Redisson %s does not read these %d bytes as %s: %w", client.Old, len(data), name, err)
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), decodedValue{"dq-bench/codec/v1", name, r.Class, len(data), r.Same, string(r.JSON)})
	}
	whole := "yes, Redisson writes the same bytes again"
	if !r.Same {
		whole = "not told: Redisson writes other bytes for it"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "codec  %s\nclass  %s\nbytes  %d\nwhole  %s\nvalue  %s\n", name, text.Inert(r.Class), len(data), whole, text.Inert(string(r.JSON)))
	return err
}

func newCodecTypesCmd() *cobra.Command {
	var java javaFlags
	var pkg string
	cmd := &cobra.Command{
		Use:   "types CLASS... --classpath app.jar",
		Short: "Write Go types for classes of an application",
		Long: `Writes Go source with a struct for each class, for its super classes and for the classes of its fields, with
the tags of package dq/codec/java and the list of classes that its codecs take. A class with type
parameters has a Go type for each use. A field without a Go type is an any.

Java reads the classes: see 'dq-bench codec decode --help' about Java 17 and DQ_JAVA.`,
		Example: `  dq-bench codec types com.acme.Order --classpath app.jar --package orders > orders/types.go`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, classes []string) error {
			if !java.given() {
				return usageError(errors.New("expected --classpath: the jars or folders with the classes"))
			}
			client, err := java.start(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer client.Close()
			replies, err := client.Do(cmd.Context(), values.Request{"verb": "gotypes", "class": strings.Join(classes, " "), "package": pkg})
			if err == nil {
				err = replies[0].Err()
			}
			if err != nil {
				return err
			}
			source, err := format.Source([]byte(replies[0].Source))
			if err != nil {
				return fmt.Errorf("the Go types of %s: %w", strings.Join(classes, ", "), err)
			}
			_, err = cmd.OutOrStdout().Write(source)
			return err
		},
	}
	flags := flagsOf(cmd)
	flags.list(&java.classPath, "classpath")
	flags.str(&pkg, "package", "messages")
	return cmd
}
