package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// recodeFlags are the flags of migrate that --codec needs.
type recodeFlags struct {
	javaFlags
	codec string
	class string
}

func (f *recodeFlags) add(flags flagSet) {
	flags.str(&f.codec, "codec", "")
	f.javaFlags.add(flags)
	flags.str(&f.class, "class", "")
}

// given returns the flags without the defaults of the environment.
func (f recodeFlags) given(given func(string) bool) recodeFlags {
	var only recodeFlags
	if given("classpath") {
		only.classPath = f.classPath
	}
	if given("class") {
		only.class = f.class
	}
	if given("release") {
		only.release = f.release
	}
	return only
}

// unused fails for a flag that only --codec has a use for.
func (f *recodeFlags) unused() error {
	if f.javaFlags.given() || f.class != "" {
		return errors.New("--classpath, --class and --release are for --codec")
	}
	return nil
}

// names reads --codec.
func (f *recodeFlags) names() (from, to string, err error) {
	from, to, two := strings.Cut(f.codec, ":")
	plain := func(name string) bool { return strings.Contains(name, "typed-json") }
	switch {
	case !two:
		return "", "", fmt.Errorf("--codec: expected two codecs, FROM:TO, such as marshalling:kryo5, got %q", f.codec)
	case from == to:
		return "", "", fmt.Errorf("--codec: %s is the same codec twice: there is nothing to do", from)
	case f.class == "" && (plain(from) || plain(to)):
		return "", "", errors.New("--codec: the bytes of typed-json do not name the class of the value: --class names it")
	}
	return from, to, nil
}

// recode rewrites the values of a queue.
func (f *migrateFlags) recode(cmd *cobra.Command, queue string) error {
	from, to, err := f.recoding.names()
	switch {
	case err != nil:
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
	java, err := f.recoding.start(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer java.Close()
	if err = lacks(from, java.Old, java.OldCodecs); err == nil {
		err = lacks(to, java.New, java.NewCodecs)
	}
	if err != nil {
		return err
	}
	srv, err := startLive(cmd.Context(), f.redis)
	if err != nil {
		return err
	}
	conn := srv.Conn()
	defer conn.Close()
	done, err := migrate.Recode(cmd.Context(), conn, queue, migrate.RecodeOptions{
		From: from, To: to, Recode: migrate.ByJava(java, from, to, f.recoding.class),
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
