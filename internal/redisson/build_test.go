package redisson

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

var oldRelease, newRelease = wire.Release{Major: 3, Minor: 16, Patch: 6}, wire.Release{Major: 4, Minor: 7}

// fakeTools puts a java and a mvn on an otherwise empty PATH. The fake Maven
// writes what the real one would, and a line to a log each time it runs.
func fakeTools(t *testing.T, mvn string) (log string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake tools are shell scripts")
	}
	bin := t.TempDir()
	log = filepath.Join(bin, "mvn.log")
	shell := "#!/bin/sh\necho run >> '" + log + "'\n"
	for _, tool := range []string{"java", "javac"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\n"), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(bin, "mvn"), []byte(shell+mvn), 0o755))
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("JAVA_HOME", "")
	return log
}

// goodMaven builds classes and a class path of one jar, redisson.jar, beside the build directory.
const goodMaven = `
mkdir -p target/classes && : > ../redisson.jar
printf '%s\n' "$(cd .. && pwd)/redisson.jar" > target/classpath
`

func newBuilder(t *testing.T) (builder, *[]string) {
	var mu sync.Mutex
	var lines []string
	return builder{root: t.TempDir(), progress: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}}, &lines
}

func TestBuildOnceThenFromTheCache(t *testing.T) {
	log := fakeTools(t, goodMaven)
	b, lines := newBuilder(t)

	first, err := b.build(t.Context(), oldRelease)
	require.NoError(t, err)
	require.Contains(t, (*lines)[0], "building the driver for Redisson 3.16.6")
	require.NoError(t, os.Remove(filepath.Join(b.root, "redisson.jar")))
	_, err = b.build(t.Context(), oldRelease)
	require.NoError(t, err, "a jar that is gone is built again")

	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(log), "mvn")))
	second, err := b.build(t.Context(), oldRelease)
	require.NoError(t, err, "a cached build needs no Maven")
	require.Equal(t, first, second)
	content, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(content), "run"))

	require.Equal(t, mainClass, second[len(second)-1])
	for _, path := range strings.Split(second[3], string(os.PathListSeparator)) {
		require.NotContains(t, path, "-building-")
	}
	left, err := filepath.Glob(filepath.Join(b.root, "*-building-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestBuildTwiceAtOnce(t *testing.T) {
	fakeTools(t, goodMaven)
	b, _ := newBuilder(t)
	var builds sync.WaitGroup
	for range 4 {
		builds.Go(func() {
			_, err := b.build(t.Context(), newRelease)
			require.NoError(t, err)
		})
	}
	builds.Wait()
}

func TestBuildFailureSaysWhatMavenSaid(t *testing.T) {
	fakeTools(t, `echo '[INFO] x'
printf '\033[0m\033[0m[ERROR] Could not find artifact org.redisson:redisson:jar:9.9.9 -> [Help 1]\n'
printf '[ERROR] \n[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.\n'
exit 1
`)
	b, _ := newBuilder(t)
	_, err := b.build(t.Context(), wire.Release{Major: 9, Minor: 9, Patch: 9})
	require.ErrorContains(t, err, "Redisson 9.9.9")
	require.ErrorContains(t, err, "Could not find artifact org.redisson:redisson:jar:9.9.9")
	require.True(t, strings.HasSuffix(err.Error(), "redisson:jar:9.9.9"), "%v", err)
	require.NotContains(t, err.Error(), "\x1b")
	require.NotContains(t, err.Error(), "[INFO]")
	left, err := os.ReadDir(b.root)
	require.NoError(t, err)
	require.Empty(t, left, "a failed build leaves nothing behind")
}

func TestBuildEndsWithItsContext(t *testing.T) {
	fakeTools(t, "exec sleep 60\n")
	b, lines := newBuilder(t)
	ctx, cancel := context.WithCancel(t.Context())
	inner := b.progress
	b.progress = func(line string) { inner(line); cancel() }
	_, err := b.build(ctx, newRelease)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, *lines, 1)
}

func TestBuildWithoutMaven(t *testing.T) {
	log := fakeTools(t, goodMaven)
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(log), "mvn")))
	t.Setenv("PATH", filepath.Dir(log))
	b, _ := newBuilder(t)
	_, err := b.build(t.Context(), oldRelease)
	require.ErrorContains(t, err, "not on PATH: mvn: install both")
	require.NotContains(t, err.Error(), "\n")

	t.Setenv("PATH", t.TempDir())
	_, err = b.build(t.Context(), oldRelease)
	require.ErrorContains(t, err, "not on PATH: java, javac, mvn")
}
