package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/internal/text"
)

// codecNames is what the help says of --codec.
const codecNames = `string, bytes, long, json, typed-json, json3, typed-json3, kryo5, marshalling,
    serialization; each of them compressed, such as
    lz4/kryo5, by lz4, lz4-v2, snappy, snappy-v2 and zstd`

// recodeFlags are the flags of migrate that --codec needs.
type recodeFlags struct {
	codec   string
	jars    []string
	class   string
	release string
	partial bool
}

func (f *recodeFlags) add(flags flagSet) {
	flags.str(&f.codec, "codec", "")
	flags.list(&f.jars, "classpath")
	flags.str(&f.class, "class", "")
	flags.str(&f.release, "release", "")
	flags.yes(&f.partial, "partial")
}

// given returns the flags without the defaults of the environment.
func (f recodeFlags) given(given func(string) bool) recodeFlags {
	var only recodeFlags
	if given("classpath") {
		only.jars = f.jars
	}
	if given("class") {
		only.class = f.class
	}
	if given("release") {
		only.release = f.release
	}
	only.partial = f.partial && given("partial")
	return only
}

// unused fails for a flag that only --codec has a use for.
func (f *recodeFlags) unused() error {
	if len(f.jars) > 0 || f.class != "" || f.release != "" || f.partial {
		return errors.New("--classpath, --class, --release and --partial are for --codec")
	}
	return nil
}

// names reads --codec.
func (f *recodeFlags) names() (from, to codec.Name, err error) {
	first, second, two := strings.Cut(f.codec, ":")
	if !two {
		return "", "", fmt.Errorf("--codec: expected two codecs, FROM:TO, such as marshalling:kryo5, got %q", f.codec)
	}
	for _, name := range []string{first, second} {
		if _, err := codec.ByName(codec.Name(name)); err != nil {
			return "", "", errCodec(name)
		}
	}
	return codec.Name(first), codec.Name(second), nil
}

// needsClass reports whether values of one of the codecs do not tell of which class they are.
func needsClass(from, to codec.Name) bool {
	_, first := from.Split()
	_, second := to.Split()
	plain := []codec.Name{codec.NameTypedJSON, codec.NameTypedJSON3}
	return first != second && (slices.Contains(plain, first) || slices.Contains(plain, second))
}

// errCodec is the error about a codec that is not there, which names those that are.
func errCodec(name string) error {
	const known = "string bytes long json typed-json json3 typed-json3 kryo5 marshalling serialization"
	const outer = "lz4 lz4-v2 snappy snappy-v2 zstd"
	names := strings.Fields(known)
	compressing, inner, compressed := strings.Cut(name, "/")
	guess, prefix := name, ""
	if compressed && slices.Contains(strings.Fields(outer), compressing) {
		guess, prefix = inner, "behind "+compressing+"/ "
	} else {
		names = append(names, strings.Fields(outer)...)
	}
	return fmt.Errorf("--codec: %sno codec %q%s; there are %s, and each of them compressed, such as lz4/kryo5, by %s",
		prefix, guess, text.DidYouMean(guess, names), strings.ReplaceAll(known, " ", ", "), strings.ReplaceAll(outer, " ", ", "))
}

// recode rewrites the values of a queue.
func (f *migrateFlags) recode(cmd *cobra.Command, queue string) error {
	from, to, err := f.recoding.names()
	switch {
	case err != nil:
	case f.recoding.class == "" && needsClass(from, to):
		err = errors.New("--codec: the bytes of typed-json do not name the class of the value: --class names it")
	case f.to != "":
		err = errors.New("--codec rewrites values and --to how they are packed: run one after the other")
	case f.repair:
		err = errors.New("--repair is for --to")
	default:
		err = checkLiveServer(f.redis)
	}
	if err != nil {
		return usageError(err)
	}
	library, err := classfile.Open(f.recoding.jars...)
	if err != nil {
		return fmt.Errorf("--classpath: %w", err)
	}
	defer library.Close()
	find := library.Class
	if len(f.recoding.jars) == 0 {
		find = func(string) (codec.JavaClass, error) {
			return codec.JavaClass{}, errors.New("its class file is needed, which tells what the bytes do not: --classpath app.jar")
		}
	}
	recoder, err := codec.NewRecoder(from, to, find, f.recoding.class)
	if err != nil {
		return usageError(fmt.Errorf("--codec: %w", err))
	}
	if f.recoding.release != "" {
		release, err := wire.LookupRelease(f.recoding.release)
		if err != nil {
			return usageError(fmt.Errorf("--release: %w", err))
		}
		recoder.ReadBy(release)
	}
	srv, err := startLive(cmd.Context(), f.redis)
	if err != nil {
		return err
	}
	client := srv.NewClient()
	defer client.Close()
	done, err := migrate.Recode(cmd.Context(), client, queue, migrate.RecodeOptions{
		From: string(from), To: string(to), Recoder: recoder, Partial: f.recoding.partial,
		DryRun: f.dryRun, Force: f.force, Cluster: srv.Cluster(), Progress: everyTwoSeconds(cmd.ErrOrStderr()),
	})
	if err != nil {
		return recodeError(done, err)
	}
	if err := printRecoding(cmd.OutOrStdout(), f.asJSON, done); err != nil {
		return err
	}
	if left := done.Left(); left != "" {
		return failure(fmt.Errorf("left: %s", left))
	}
	return nil
}

func printRecoding(w io.Writer, asJSON bool, done *migrate.Recoding) error {
	if asJSON {
		return printJSON(w, done)
	}
	return done.WriteText(w)
}

// recodeError explains why it ended early.
func recodeError(done *migrate.Recoding, err error) error {
	err = granted(err, migrateRights)
	var refused redis.Error
	none := done.Done.Passes == 0 || done.Done.Batches == 0 && errors.As(err, &refused)
	switch interrupted := errors.Is(err, context.Canceled); {
	case interrupted && none:
		return errors.New("interrupted: nothing was changed")
	case interrupted:
		return fmt.Errorf("interrupted after %d members and %d entries, and %d delivered values were rewritten, which stay so; the same command goes on from there",
			done.Done.Members, done.Done.Entries, done.Done.Waiting)
	case none:
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return fmt.Errorf("ended after %d members and %d entries, and %d delivered values were rewritten, which stay so: %w; without what stopped it, the same command goes on from there",
		done.Done.Members, done.Done.Entries, done.Done.Waiting, err)
}
