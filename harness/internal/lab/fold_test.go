package lab

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
)

var adopted = flag.String("fold", "", "RELEASE=FOLDER, a release that 'dq-bench record' recorded in a folder: pack it into recordings/redisson")

// TestFold packs the recordings of -fold, for 'make adopt'. Packing a release that is packed already changes no byte.
func TestFold(t *testing.T) {
	if release, folder, ok := strings.Cut(*adopted, "="); ok {
		t.Chdir("../../..")
		files, err := filepath.Glob(filepath.Join(folder, "*.monitor"))
		require.NoError(t, err)
		recorded := map[string][]byte{}
		for _, file := range files {
			recorded[strings.TrimSuffix(filepath.Base(file), ".monitor")] = must(os.ReadFile(file))
		}
		require.NoError(t, fold(t, "recordings/redisson", release, recorded))
		return
	}
	root := filepath.Join(t.TempDir(), "redisson")
	recorded := recordings.Redisson("4.7.0")
	for section, text := range recorded {
		recorded[section] = bytes.ReplaceAll(text, []byte(`"echo" "case:`), []byte(`"ECHO" "case:`)) // as record writes it
	}
	require.NoError(t, fold(t, root, "4.7.0", recorded))
	packed := os.DirFS(root)
	count := 0
	require.NoError(t, fs.WalkDir(packed, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		count++
		want := must(recordings.Files.ReadFile("redisson/" + name))
		require.Equal(t, string(want), string(must(fs.ReadFile(packed, name))), name)
		return nil
	}))
	require.Greater(t, count, 50)
	require.ErrorContains(t, fold(t, root, "4.8.0", nil), "expected recordings")
}

// fold packs the recordings of one more Redisson release into root. A case that means the same as at an earlier release
// gets a cell of index.tsv; only a new form is stored.
func fold(t *testing.T, root, release string, sections map[string][]byte) error {
	t.Helper()
	all := map[wire.Release]map[string][]byte{}
	for _, name := range append(recordings.Releases(), release) {
		r := must(wire.ParseRelease(name))
		if all[r] = recordings.Redisson(name); name == release {
			all[r] = sections
		}
	}
	p := packer{index: map[string]map[wire.Release]string{}, forms: map[string][]form{}, order: slices.SortedFunc(maps.Keys(all), wire.Release.Compare)}
	for _, r := range p.order {
		if len(all[r]) == 0 {
			return fmt.Errorf("%s: expected recordings, one NAME.monitor for each section", r)
		}
		for _, name := range slices.Sorted(maps.Keys(all[r])) {
			p.add(t, r, all[r][name])
		}
	}
	p.write(t, root)
	return nil
}

// form is one meaning of a case, stored at its first release.
type form struct {
	release string
	text    []byte
	trace   *trace.Trace
}

type packer struct {
	order []wire.Release
	index map[string]map[wire.Release]string // cells by case and release
	forms map[string][]form                  // by case
}

// add takes the recording of a section at a release.
func (p *packer) add(t *testing.T, release wire.Release, text []byte) {
	t.Helper()
	absent, order, texts := recordings.Split(text)
	for id, why := range absent {
		p.set(id, release, recordings.Absent+why)
	}
	for _, id := range order {
		rec, err := trace.Read(texts[id], release.String())
		require.NoError(t, err)
		meaning, err := trace.Normalise(rec, release.String(), rec.Lines[1:], false) // without the mark
		require.NoError(t, err, "%s: %s", release, id)
		const tolerance = time.Second
		i := slices.IndexFunc(p.forms[id], func(f form) bool { return trace.Compare(f.trace, meaning, tolerance) == nil })
		if i < 0 {
			i = len(p.forms[id])
			p.forms[id] = append(p.forms[id], form{release.String(), texts[id], meaning})
		}
		p.set(id, release, p.forms[id][i].release)
	}
}

func (p *packer) set(id string, release wire.Release, cell string) {
	if p.index[id] == nil {
		p.index[id] = map[wire.Release]string{}
	}
	p.index[id][release] = cell
}

func (p *packer) write(t *testing.T, root string) {
	t.Helper()
	files := map[string][]byte{}
	index := "case"
	for _, r := range p.order {
		index += "\t" + r.String()
	}
	for _, id := range slices.Sorted(maps.Keys(p.index)) {
		index += "\n" + id
		for _, r := range p.order {
			index += "\t" + p.index[id][r]
		}
		section, _, _ := strings.Cut(id, "/")
		for _, f := range p.forms[id] {
			name := path.Join(f.release, section+".monitor")
			if files[name] == nil {
				files[name] = recordings.Head(section, f.release)
			}
			files[name] = append(files[name], f.text...)
		}
	}
	files["index.tsv"] = []byte(index + "\n")
	next := root + ".new"
	for name, text := range files {
		file := filepath.Join(next, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, text, 0o644))
	}
	require.NoError(t, os.RemoveAll(root))
	require.NoError(t, os.Rename(next, root))
}
