package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/text"
)

// javaFlags say which classes and which Redisson Java reads values with.
type javaFlags struct {
	classPath []string
	release   string // or two, OLD:NEW
}

func (f *javaFlags) add(c *call) {
	c.list(&f.classPath, "classpath")
	c.str(&f.release, "release", "")
}

func (f javaFlags) given() bool { return len(f.classPath) > 0 || f.release != "" }

// start starts Java. Without --release, the Redisson on the class path reads and writes.
func (f javaFlags) start(c *call) (*ops.JavaClient, error) {
	named := os.Getenv("DQ_JAVA")
	o := ops.JavaOptions{ClassPath: f.classPath}
	var err error
	if named != "" {
		o.Java, err = program.SplitCommandLine(named)
	}
	old, fresh, two := strings.Cut(f.release, ":")
	if !two {
		fresh = old
	}
	switch {
	case err != nil:
		err = fmt.Errorf("DQ_JAVA: %w", err)
	case !f.given():
		err = errors.New("expected --classpath, the application with its Redisson, or --release, such as 3.16.6:4.7.0: the Redisson that writes today, and the one that will read")
	case f.release == "":
		return ops.StartJava(c.Context(), o)
	case ops.Elsewhere(o.Java) > 0:
		err = fmt.Errorf("--release %s: its jars are not where %q starts Java; leave it out, and name the jars there by --classpath", f.release, named)
	}
	if err != nil {
		return nil, usageError(err)
	}
	for version, jars := range map[string]*[]string{old: &o.Old, fresh: &o.New} {
		release, err := wire.LookupRelease(version)
		if err != nil {
			return nil, usageError(fmt.Errorf("--release: %w", err))
		}
		if *jars, err = redisson.Jars(c.Context(), release, func(line string) { c.notice("%s", line) }); err != nil {
			return nil, err
		}
	}
	if old == fresh {
		o.Old = o.New
	}
	return ops.StartJava(c.Context(), o)
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
