// Package redisson builds and finds the Java program that drives a real Redisson of any release (docs/protocol.md). The binary has the
// program's sources. On first use Maven compiles them against the release, and the result stays in the user's cache directory.
package redisson

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

//go:embed pom.xml jvm.args src
var sources embed.FS

const mainClass = "io.github.dqbench.redisson.Main"

// Build returns the driver program for a release of org.redisson:redisson, with its arguments: it needs no shell, no working directory and no
// network. On first use Maven downloads the release and compiles the program, which takes seconds to minutes; progress gets lines about it.
// Later calls only look into the cache. Without Java or Maven the error says what to install.
func Build(ctx context.Context, release wire.Release, progress func(string)) (command []string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no place to keep the Redisson driver: %w", err)
	}
	return builder{filepath.Join(cache, "dq-bench", "redisson"), progress}.build(ctx, release)
}

// Jars returns the jars of a release and of its dependencies, built as Build does.
func Jars(ctx context.Context, release wire.Release, progress func(string)) ([]string, error) {
	command, err := Build(ctx, release, progress)
	if err != nil {
		return nil, err
	}
	return filepath.SplitList(command[3])[1:], nil // the class path: the driver's classes, then the jars
}

type builder struct {
	root     string
	progress func(string)
}

func (b builder) build(ctx context.Context, release wire.Release) ([]string, error) {
	version := release.String()
	dir := filepath.Join(b.root, version+"-"+sourceHash())
	classPath, err := readClassPath(dir)
	if err != nil {
		if err = b.compile(ctx, version, dir); err == nil {
			classPath, err = readClassPath(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("building the driver for Redisson %s: %w", version, err)
		}
	}
	tools, err := findTools(version, "java")
	if err != nil {
		return nil, err
	}
	return []string{tools["java"], "@" + filepath.Join(dir, "jvm.args"), "-cp", classPath, mainClass}, nil
}

// compile builds in a new directory and moves it to its place at the end, so that an interrupted or a simultaneous build leaves no half.
func (b builder) compile(ctx context.Context, version, dir string) error {
	tools, err := findTools(version, "java", "javac", "mvn")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.root, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(b.root, version+"-building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, sources); err != nil {
		return err
	}
	b.progress(fmt.Sprintf("building the driver for Redisson %s with Maven (first use; kept in %s)", version, dir))
	started := time.Now()
	// Maven remembers that a release was missing, and the release may be there by now: --update-snapshots asks again.
	cmd := exec.CommandContext(ctx, tools["mvn"], "--quiet", "--batch-mode", "--update-snapshots", "-Dstyle.color=never", "-Dredisson.version="+version,
		"compiler:compile", "dependency:build-classpath", "-Dmdep.outputFile=target/classpath")
	cmd.Dir = work
	cmd.WaitDelay = 5 * time.Second
	if output, err := cmd.CombinedOutput(); err != nil {
		return cmp.Or(ctx.Err(), fmt.Errorf("with Maven (%w): %s", err, firstErrors(output)))
	}
	if err := os.Rename(work, dir); err != nil {
		if _, stale := readClassPath(dir); stale == nil {
			return nil // another build was faster
		}
		if err := errors.Join(os.RemoveAll(dir), os.Rename(work, dir)); err != nil {
			return err
		}
	}
	b.progress(fmt.Sprintf("driver for Redisson %s built in %.1f s", version, time.Since(started).Seconds()))
	return nil
}

// readClassPath returns a build's class path, its own classes first. It fails if the build or one of its jars is gone.
func readClassPath(dir string) (string, error) {
	jars, err := os.ReadFile(filepath.Join(dir, "target", "classpath"))
	if err != nil {
		return "", err
	}
	classPath := filepath.Join(dir, "target", "classes") + string(os.PathListSeparator) + strings.TrimSpace(string(jars))
	for _, entry := range append(filepath.SplitList(classPath), filepath.Join(dir, "jvm.args")) {
		if _, err := os.Stat(entry); err != nil {
			return "", err
		}
	}
	return classPath, nil
}

// colour finds the colours in Maven's lines, which -Dstyle.color leaves in some.
var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// firstErrors returns the first errors in Maven's output, up to an empty one: general advice follows that.
func firstErrors(output []byte) string {
	const most = 3
	var found []string
	for line := range bytes.Lines(colour.ReplaceAll(output, nil)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "[ERROR]")
		rest = strings.TrimSpace(strings.TrimSuffix(rest, "-> [Help 1]"))
		if ok && (rest == "" || len(found) == most) {
			break
		}
		if ok {
			found = append(found, rest)
		}
	}
	return cmp.Or(strings.Join(found, "; "), strings.TrimSpace(string(output)))
}

// findTools finds programs of the JDK and Maven, and names all missing ones in one error. Like Maven it prefers the JDK of JAVA_HOME to PATH.
func findTools(version string, names ...string) (map[string]string, error) {
	found := map[string]string{}
	var missing []string
	for _, name := range names {
		path, err := exec.LookPath(filepath.Join(os.Getenv("JAVA_HOME"), "bin", name))
		if os.Getenv("JAVA_HOME") == "" || name == "mvn" || err != nil {
			path, err = exec.LookPath(name)
		}
		if found[name] = path; err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	return nil, fmt.Errorf("redisson:%s needs Java (a JDK, 17 or newer) and Maven; not on PATH: %s: "+
		"install both (Debian: apt install openjdk-17-jdk-headless maven; macOS: brew install openjdk@17 maven)", version, strings.Join(missing, ", "))
}

// sourceHash names a state of the sources, so that a newer binary does not run an older build.
func sourceHash() string {
	sum := sha256.New()
	_ = fs.WalkDir(sources, ".", func(path string, _ fs.DirEntry, _ error) error { // of embedded files
		if content, err := sources.ReadFile(path); err == nil { // no folder
			fmt.Fprintf(sum, "%s %d\n", path, len(content))
			sum.Write(content)
		}
		return nil
	})
	return fmt.Sprintf("%x", sum.Sum(nil))[:12]
}
