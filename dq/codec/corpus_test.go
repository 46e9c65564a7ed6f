package codec_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

var (
	corpusCodecs   = []codec.Name{codec.NameKryo5, codec.NameMarshalling, codec.NameSerialization}
	corpusReleases = []string{"3.16.6", "3.21.1", "4.3.1", "4.7.0"}
)

const (
	corpusSeed     = 1
	corpusMessages = 2000
	// sampledMessages is how many of each codec testdata/corpus has.
	sampledMessages = 60
	corpusDeadline  = 10 * time.Minute
)

// seedOfCorpus is DQ_SEED, or the seed of the committed sample.
func seedOfCorpus(t *testing.T) uint64 {
	text := os.Getenv("DQ_SEED")
	if text == "" {
		return corpusSeed
	}
	seed, err := strconv.ParseUint(text, 10, 31)
	require.NoError(t, err)
	return seed
}

// message is one that a Redisson wrote, or could not.
type message struct {
	codec   codec.Name
	number  int
	class   string
	text    string // the description
	bytes   []byte
	problem string
}

// corpus is what a Redisson wrote.
type corpus struct {
	uids     map[string]int64
	messages []message
}

// readCorpus reads the lines of Corpus.java.
func readCorpus(t *testing.T, lines []byte) corpus {
	all := corpus{uids: map[string]int64{}}
	scanner := bufio.NewScanner(bytes.NewReader(lines))
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		parts := strings.Split(scanner.Text(), "\t")
		if parts[0] == "class" {
			uid, err := strconv.ParseInt(parts[2], 10, 64)
			require.NoError(t, err)
			all.uids[parts[1]] = uid
			continue
		}
		number, err := strconv.Atoi(parts[2])
		require.NoError(t, err)
		m := message{codec: codec.Name(parts[1]), number: number, class: parts[3], text: parts[4]}
		if parts[5] == "-" {
			m.problem = parts[6]
		} else {
			m.bytes, err = hex.DecodeString(parts[5])
			require.NoError(t, err)
		}
		all.messages = append(all.messages, m)
	}
	require.NoError(t, scanner.Err())
	require.NotEmpty(t, all.messages)
	return all
}

// has reports whether the release has a codec.
func (c corpus) has(name codec.Name) bool {
	return slices.ContainsFunc(c.messages, func(m message) bool { return m.codec == name })
}

// figures count what became of the messages of a codec.
type figures struct {
	messages, read, partly, identical, equal, unwritten int
	// byNobody counts those beside messages that the Redisson which wrote them cannot read
	// back itself, or could not write.
	byNobody int
	// refused and unwritable count the reasons for what was not read, and not written.
	refused, unwritable map[string]int
	wrong               []string
	// rewritten has the messages that came out in other bytes, for Redisson to judge.
	rewritten []message
}

func (f *figures) String() string {
	total := 0
	for _, n := range f.refused {
		total += n
	}
	share := func(n, of int) string { return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(max(of, 1))) }
	return fmt.Sprintf("%d messages, and %d that Redisson itself does not read back: %s read, %d of them but for a field that the struct leaves out; of the %d others %s written identically, %d in other bytes, %d refused to write; %s refused to read; %d silently wrong",
		f.messages, f.byNobody, share(f.read, f.messages), f.partly, f.read-f.partly, share(f.identical, f.read-f.partly), f.equal, f.unwritten,
		share(total, f.messages), len(f.wrong))
}

// judge has the codec read every message, and write again what it has read.
func judge(t *testing.T, seed uint64, name codec.Name, all corpus) *figures {
	classes := newCorpus(seed, name, all.uids)
	lacks := lacking(classes)
	byName := map[string]*corpusClass{}
	for _, c := range classes {
		byName["acme."+c.name] = c
	}
	values, err := codec.ByName(name, goClasses(classes)...)
	require.NoError(t, err)
	f := &figures{refused: map[string]int{}, unwritable: map[string]int{}}
	for _, m := range all.messages {
		switch {
		case m.codec != name:
		case m.problem != "":
			f.byNobody++
		default:
			f.judge(values, m, name != codec.NameKryo5 && lacks[byName[m.class]])
		}
	}
	return f
}

// goClasses returns what a codec is given of the corpus.
func goClasses(classes []*corpusClass) (given []codec.Class) {
	for _, c := range classes {
		class := codec.Class{Of: reflect.Zero(c.goType).Interface()}
		switch c.kind {
		case corpusInterface:
			continue
		case corpusEnum:
			class.Name, class.Constants = "acme."+c.name, c.constants
		}
		given = append(given, class)
	}
	return given
}

func (f *figures) judge(values codec.Codec[any], m message, lacks bool) {
	f.messages++
	value, err := values.Decode(m.bytes)
	if err != nil {
		f.refused[reason(err)]++
		return
	}
	if got := describe(reflect.ValueOf(value), false); got != m.text {
		f.wrong = append(f.wrong, fmt.Sprintf("%s %d\nwant %s\ngot  %s\nof   %x", m.codec, m.number, m.text, got, m.bytes))
		return
	}
	f.read++
	if lacks {
		f.partly++
		return
	}
	written, err := values.Encode(value)
	switch {
	case err != nil:
		f.unwritten++
		f.unwritable[reason(err)]++
	case bytes.Equal(written, m.bytes):
		f.identical++
	default:
		f.equal++
		m.bytes = written
		f.rewritten = append(f.rewritten, m)
	}
}

// reason shortens an error to what many have in common, and says so where it is one that
// names no class.
func reason(err error) string {
	var class *codec.ClassError
	if errors.As(err, &class) {
		return "class " + class.Class
	}
	text := err.Error()
	if i := strings.LastIndex(text, ": "); len(text) > 200 && i > 0 {
		text = text[i:]
	}
	return text[:min(len(text), 200)]
}

// leastRead is the share of messages that must be read, leastIdentical of those the share
// that must be written identically: what is not are mostly strings that Java shares.
const leastRead, leastIdentical = 0.99, 0.95

// check tells the figures, and fails where one is below its target.
func (f *figures) check(t *testing.T, name codec.Name, of string) {
	t.Helper()
	t.Logf("%s of %s: %v", name, of, f)
	if share := float64(f.read) / float64(f.messages); share < leastRead {
		t.Errorf("%s of %s: read %.3f of the messages, expected %.2f", name, of, share, leastRead)
	}
	if share := float64(f.identical) / float64(f.read-f.partly); share < leastIdentical {
		t.Errorf("%s of %s: wrote %.3f of the messages identically, expected %.2f", name, of, share, leastIdentical)
	}
	for reason, n := range f.refused {
		t.Logf("    %d not read: %s", n, reason)
	}
	for reason, n := range f.unwritable {
		t.Logf("    %d not written: %s", n, reason)
	}
	for _, wrong := range f.wrong[:min(len(f.wrong), 3)] {
		t.Errorf("%s of %s: silently wrong: %s", name, of, wrong)
	}
}

// eachSample runs check for the messages recorded from each release.
func eachSample(t *testing.T, check func(t *testing.T, all corpus)) {
	files, err := filepath.Glob("testdata/corpus/*.tsv")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			lines, err := os.ReadFile(file)
			require.NoError(t, err)
			check(t, readCorpus(t, lines))
		})
	}
}

// TestCorpusSample reads and writes the messages that were recorded from real Redissons.
func TestCorpusSample(t *testing.T) {
	eachSample(t, func(t *testing.T, all corpus) {
		for _, name := range corpusCodecs {
			if all.has(name) {
				judge(t, corpusSeed, name, all).check(t, name, "the sample")
			}
		}
	})
}

// TestCorpusOfRedisson has real Redissons write messages of hundreds of classes, and read
// what is written of them here. DQ_SEED makes other ones; DQ_WRITE_CORPUS keeps the sample.
func TestCorpusOfRedisson(t *testing.T) {
	redistest.Redisson(t, corpusReleases...)
	seed := seedOfCorpus(t)
	java := compileCorpus(t, seed)
	for _, release := range corpusReleases {
		t.Run(release, func(t *testing.T) {
			program := java.at(t, release)
			all := readCorpus(t, program.run(t, "corpus.Corpus", nil, "write", fmt.Sprint(seed), fmt.Sprint(corpusMessages), "kryo5", "marshalling", "serialization"))
			for _, name := range corpusCodecs {
				if !all.has(name) {
					continue // the release has no such codec
				}
				f := judge(t, seed, name, all)
				f.readBy(t, program, seed)
				f.check(t, name, release)
			}
			checkClassFiles(t, program.dir, newCorpus(seed, codec.NameSerialization, nil), all.uids)
			if dir := os.Getenv("DQ_WRITE_CORPUS"); dir != "" {
				writeJar(t, program.dir, filepath.Join(dir, "acme.jar"))
				sample := program.run(t, "corpus.Corpus", nil, "write", fmt.Sprint(seed), fmt.Sprint(sampledMessages), "kryo5", "marshalling", "serialization")
				require.NoError(t, os.WriteFile(filepath.Join(dir, release+".tsv"), sample, 0o644))
			}
		})
	}
}

// readBy has Redisson read what came out in other bytes than its own.
func (f *figures) readBy(t *testing.T, program corpusProgram, seed uint64) {
	var lines strings.Builder
	for _, m := range f.rewritten {
		fmt.Fprintf(&lines, "%s\t%d\t%x\n", m.codec, m.number, m.bytes)
	}
	answers := 0
	for line := range strings.Lines(string(program.run(t, "corpus.Corpus", strings.NewReader(lines.String()), "read", fmt.Sprint(seed)))) {
		answers++
		if parts := strings.SplitN(strings.TrimSpace(line), "\t", 3); parts[2] != "ok" {
			i := slices.IndexFunc(f.rewritten, func(m message) bool { return fmt.Sprint(m.number) == parts[1] })
			f.wrong = append(f.wrong, fmt.Sprintf("%s %s: Redisson reads from the bytes written here\n%s\nwant %s", parts[0], parts[1], parts[2], f.rewritten[i].text))
		}
	}
	require.Equal(t, len(f.rewritten), answers)
}
