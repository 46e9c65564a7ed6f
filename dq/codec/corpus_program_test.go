package codec_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// corpusProgram is Corpus.java, compiled, with its classes.
type corpusProgram struct {
	dir     string   // the compiled classes
	command []string // of the driver program for a release, which has its class path
}

func compileCorpus(t *testing.T, seed uint64) corpusProgram {
	sources := t.TempDir()
	var files []string
	write := func(name, text string) {
		file := filepath.Join(sources, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		files = append(files, file)
	}
	var list strings.Builder
	for _, c := range newCorpus(seed, codec.NameSerialization, nil) {
		write("acme/"+c.name+".java", c.source())
		fmt.Fprintf(&list, "acme.%s", c.name)
		if c.isMessage() {
			list.WriteString(" message")
		}
		list.WriteString("\n")
	}
	ours, err := filepath.Glob("testdata/java/corpus/*.java")
	require.NoError(t, err)
	files = append(files, append(ours, "testdata/java/demo/Wire.java")...)
	program := corpusProgram{dir: t.TempDir()}
	args := append([]string{"-proc:none", "-nowarn", "-Xlint:none", "-d", program.dir, "-cp", program.at(t, corpusReleases[0]).classPath()}, files...)
	ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
	defer cancel()
	out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.WriteFile(filepath.Join(program.dir, "acme", "classes"), []byte(list.String()), 0o644))
	return program
}

// at returns the program beside a release of Redisson.
func (p corpusProgram) at(t *testing.T, release string) corpusProgram {
	r, err := wire.ParseRelease(release)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
	defer cancel()
	built, err := redisson.Build(ctx, r, func(line string) { t.Log(line) })
	if err != nil {
		redistest.Missing(t, "redisson", err)
	}
	p.command = built.Command
	return p
}

func (p corpusProgram) classPath() string { return p.command[slices.Index(p.command, "-cp")+1] }

func (p corpusProgram) run(t *testing.T, main string, stdin *strings.Reader, args ...string) []byte {
	command := slices.Clone(p.command[1 : len(p.command)-1])
	command[slices.Index(command, "-cp")+1] = p.dir + string(os.PathListSeparator) + p.classPath()
	ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
	defer cancel()
	java := exec.CommandContext(ctx, p.command[0], append(append(command, main), args...)...)
	if stdin != nil {
		java.Stdin = stdin
	}
	var problems bytes.Buffer
	java.Stderr = &problems
	out, err := java.Output()
	require.NoError(t, err, problems.String())
	return out
}
