package redisson

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeDocker is all that is on PATH; it knows one image.
func fakeDocker(t *testing.T) (path string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake tool is a shell script")
	}
	bin := t.TempDir()
	path = filepath.Join(bin, "docker")
	script := "#!/bin/sh\n[ \"$1 $2 $5\" = 'image inspect dq-bench/redisson:3.16.6' ]\n"
	require.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	t.Setenv("PATH", bin)
	t.Setenv("JAVA_HOME", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	return path
}

func TestWithoutJavaTheImageIsTaken(t *testing.T) {
	docker := fakeDocker(t)
	var told []string
	program, err := Build(t.Context(), oldRelease, func(line string) { told = append(told, line) })
	require.NoError(t, err)
	require.Equal(t, []string{docker, "run", "--interactive", "--rm", "--network", "host", "dq-bench/redisson:3.16.6"}, program)
	require.Equal(t, []string{"no Java or no Maven here: Redisson 3.16.6 runs from the image dq-bench/redisson:3.16.6"}, told)
}

func TestWithoutJavaAndImageBothWaysAreNamed(t *testing.T) {
	fakeDocker(t)
	for name, change := range map[string]func(){
		"another release": func() {},
		"no Docker":       func() { t.Setenv("PATH", t.TempDir()) },
	} {
		change()
		_, err := Build(t.Context(), newRelease, func(string) {})
		require.ErrorIs(t, err, ErrToolchain, name)
		require.ErrorContains(t, err, "not on PATH: java, javac, mvn: install both", name)
		require.ErrorContains(t, err, "docker/build-local.sh redisson-4.7.0", name)
		require.NotContains(t, err.Error(), "\n", name)
	}
}
