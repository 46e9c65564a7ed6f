package ops

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func changesOf(t *testing.T, from, to string) *Changes {
	t.Helper()
	a, err := wire.LookupRelease(from)
	require.NoError(t, err)
	b, err := wire.LookupRelease(to)
	require.NoError(t, err)
	return ChangesBetween(a, b)
}

func TestReleasesThatReadEachOther(t *testing.T) {
	t.Parallel()
	c := changesOf(t, "4.0.0", "4.7.0")
	require.Equal(t, "codec marshalling", c.Facts[0].What)
	require.True(t, c.Facts[0].Stops, "a queue that names it stops")

	c = changesOf(t, "3.50.0", "3.52.0")
	require.Zero(t, len(c.Facts)+len(c.Scripts))
	require.Contains(t, c.Text(), "each reads what the other has written")
	require.Contains(t, changesOf(t, "3.18.0", "3.19.0").Text(), "need a step", "a guard does not help against another codec")
	require.Len(t, c.Steps, 1)
}

func TestAcrossTheChangeOfLayout(t *testing.T) {
	t.Parallel()
	for _, way := range [][2]string{{"3.21.0", "3.21.1"}, {"3.21.1", "3.21.0"}} {
		c := changesOf(t, way[0], way[1])
		require.Equal(t, layoutFact, c.Facts[0].What)
		require.Equal(t, "3.21.1", c.Facts[0].Came, "whichever way one goes")
		require.Len(t, c.Facts, 1)
		require.NotEmpty(t, c.Scripts)
		for _, s := range c.Scripts {
			require.Equal(t, "3.21.1", s.Came, s.Name)
		}
		require.Contains(t, strings.Join(strings.Fields(c.Text()), " "), "queues that hold messages need a migration or a guard")
		steps := strings.Join(c.Steps, "\n")
		require.Contains(t, steps, "dq-bench doctor QUEUE --release "+way[1])
		require.Contains(t, steps, "dq-bench migrate QUEUE --to "+way[1])
	}
}

// A codec that the new release lacks cannot be named there.
func TestStepsNameOnlyCodecsThatAreThere(t *testing.T) {
	t.Parallel()
	steps := func(from, to string) string { return strings.Join(changesOf(t, from, to).Steps, "\n") }
	require.Contains(t, steps("3.16.6", "3.19.0"), "name the one that 3.16.6 uses by default (marshalling)")
	require.Contains(t, steps("3.16.6", "4.7.0"), "4.7.0 has no codec that reads its values (marshalling)")
	all := steps("3.16.6", "4.7.0")
	require.Less(t, strings.Index(all, "let 3.16.6 deliver everything"), strings.Index(all, "dq-bench migrate"), "afterwards it delivers nothing any more")
}

// What a change means on the way back is told of the way back.
func TestTheWayBackIsToldAsSuch(t *testing.T) {
	t.Parallel()
	means := func(from, to string) (all string) {
		for _, f := range changesOf(t, from, to).Facts {
			all += f.Means + "\n"
		}
		return all
	}
	there, back := means("3.16.6", "4.7.0"), means("4.7.0", "3.16.6")
	for forward, backward := range map[string]string{
		"must be allowed EVALSHA, EVALSHA_RO": "must be allowed EVAL.", "nothing is delivered any more": "still delivers once",
		"one more argument": "one argument less", "refused it before": "refuses it",
	} {
		require.Contains(t, there, forward)
		require.NotContains(t, back, forward)
		require.Contains(t, back, backward)
		require.NotContains(t, there, backward)
	}
}

// Each two releases that follow each other and of which something changed, and the ends.
func TestEveryChangeIsToldOf(t *testing.T) {
	t.Parallel()
	all := wire.Releases()
	pairs := [][2]wire.Release{{all[0], all[len(all)-1]}, {all[len(all)-1], all[0]}}
	for i, to := range all[1:] {
		if from := all[i]; from.Major == 2 == (to.Major == 2) && len(factsBetween(from, to))+len(scriptsBetween(from, to)) > 0 {
			pairs = append(pairs, [2]wire.Release{from, to})
		}
	}
	require.Greater(t, len(pairs), 10)
	for i, pair := range pairs {
		c := ChangesBetween(pair[0], pair[1])
		for _, f := range c.Facts {
			if i >= 2 {
				require.Equal(t, pair[1].String(), f.Came, f.What)
			}
		}
		for line := range strings.Lines(c.Text()) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
		}
	}
}

// Where only a codec that code may name stands in the way, the steps say so, and how the others go on.
func TestACodecThatEnds(t *testing.T) {
	t.Parallel()
	c := changesOf(t, "4.0.0", "4.1.0")
	text := strings.Join(strings.Fields(c.Text()), " ")
	require.Contains(t, text, "each reads what the other has written, except if the code names a codec that 4.1.0 lacks: marshalling, fst.")
	steps := strings.Join(c.Steps, "\n")
	require.Contains(t, steps, "If the code names the codec marshalling, let 4.0.0 deliver everything: 4.1.0 lacks it; "+
		"or stop all clients and rewrite the values: dq-bench migrate QUEUE --codec marshalling:kryo5 --release 4.0.0:4.1.0, and with --yes to do it.")
	require.Contains(t, steps, "If the code names the codec fst, let 4.0.0 deliver everything: 4.1.0 lacks it.")
	require.Contains(t, steps, "Replace 4.0.0 by 4.1.0")
	require.Contains(t, strings.Join(changesOf(t, "3.16.6", "4.0.0").Steps, "\n"), "bring the jars of JBoss Marshalling")
	require.Contains(t, strings.Join(changesOf(t, "3.16.6", "4.7.0").Steps, "\n"), "dq-bench migrate QUEUE --codec marshalling:kryo5 --release 3.16.6:4.7.0")
	require.Contains(t, strings.Join(changesOf(t, "3.9.1", "3.10.0").Steps, "\n"), "Replace 3.9.1 by 3.10.0")
}

// Each end of RDelayedQueue and of a jar is told, with what helps.
func TestEndsAreTold(t *testing.T) {
	t.Parallel()
	words := func(from, to string) string {
		return strings.Join(strings.Fields(changesOf(t, from, to).Text()), " ")
	}
	require.Contains(t, words("3.45.1", "3.46.0"), "RDelayedQueue: supported → deprecated (3.46.0)")
	require.Contains(t, words("3.45.1", "3.46.0"), "getReliableQueue(), throws UnsupportedOperationException")
	require.Contains(t, words("3.52.0", "4.0.0"), "the jar of Jackson: a dependency → not a dependency (4.0.0)")
	require.Contains(t, words("3.52.0", "4.7.0"), "NoClassDefFoundError")
	require.NotContains(t, words("4.0.0", "4.7.0"), "Jackson")
	require.Contains(t, words("3.16.3", "3.16.4"), "an offer without an answer: is sent again after a time-out → is sent once (3.16.4)")
	require.Contains(t, words("3.45.1", "3.45.0"), "the timer: is kept → can be lost (3.45.1)")
}

// The POMs of the releases are asked which of them bring Jackson.
func TestJarOfJackson(t *testing.T) {
	t.Parallel()
	redistest.Redisson(t, "3.52.0", "4.0.0")
	for version, brings := range map[string]bool{"3.52.0": true, "4.0.0": false} {
		r, err := wire.LookupRelease(version)
		require.NoError(t, err)
		jars, err := redisson.Jars(t.Context(), r, func(line string) { t.Log(line) })
		require.NoError(t, err)
		own := slices.IndexFunc(jars, func(jar string) bool { return strings.HasSuffix(jar, "redisson-"+version+".jar") })
		require.GreaterOrEqual(t, own, 0)
		pom, err := os.ReadFile(strings.TrimSuffix(jars[own], ".jar") + ".pom")
		require.NoError(t, err)
		for block := range strings.SplitSeq(string(pom), "<dependency>") {
			block, _, _ = strings.Cut(block, "</dependency>")
			if strings.Contains(block, "com.fasterxml") && strings.Contains(block, "jackson-databind") {
				require.Equal(t, brings, !strings.Contains(block, "<optional>true"), version)
			}
		}
	}
}
