package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
)

// A run is written and read, is kept, and stays although its other files cannot be written.
func TestRunFileSetIsWrittenAndRead(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	r := Sample(1, 5000, 1)
	r.Judge([]SLO{must(ParseSLO("lateness.p99<=20ms"))})
	r.Log = NewLatenessLog(r.Started)
	r.Log.Add(r.Started, r.Started.Add(time.Second), r.Histograms.Lateness)
	store(t, folder, r)
	kept := must(os.ReadFile(filepath.Join(folder, SpectrumFile)))
	_, err := WriteFolder(folder, Sample(2, 20, 1))
	require.ErrorContains(t, err, "run.json is there already, of another run, and is kept")
	require.Equal(t, string(kept), string(must(os.ReadFile(filepath.Join(folder, SpectrumFile)))))
	require.Len(t, must(os.ReadDir(folder)), 3, "nothing but the run file set is left")
	require.Equal(t, encoded(r), encoded(must(ReadFile(t.Context(), filepath.Join(folder, File)))))

	folder = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, SpectrumFile, "in the way"), 0o755))
	require.Error(t, must(WriteFolder(folder, r)))
	_ = must(ReadFile(t.Context(), filepath.Join(folder, File)))
}

// A run file of an earlier version is read, and written again as it was but for the compression of its histograms.
func TestRunFilesStayReadable(t *testing.T) {
	file := filepath.Join("testdata", "run-v1.json")
	was := must(os.ReadFile(file))
	r := must(ReadFile(t.Context(), file))
	packed := regexp.MustCompile(`"HIST[^"]*"`)
	require.Equal(t, packed.ReplaceAllString(string(was), ""), packed.ReplaceAllString(encoded(r), ""))
}

// HdrHistogram's own reader finds every value again, the early ones by their tag.
func TestLatenessLogIsAnHdrHistogramLog(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 250e6, time.UTC)
	log := NewLatenessLog(start)
	h, _ := filled(t, 1, 1000)
	log.Add(start, start.Add(time.Second), h)
	log.Add(start.Add(time.Second), start.Add(2*time.Second), NewHistogram())
	reader := hdr.NewHistogramLogReader(bytes.NewReader(log.Bytes()))
	counts := map[string][]int64{}
	for {
		interval := must(reader.NextIntervalHistogram())
		if interval == nil {
			break
		}
		counts[interval.Tag()] = append(counts[interval.Tag()], interval.TotalCount())
	}
	require.Equal(t, map[string][]int64{"": {h.positive.TotalCount(), 0}, "early": {h.negatives()}}, counts)
	require.Contains(t, string(log.Bytes()), "#[StartTime: 1793534400.250")
}

func TestSpectrumHasEveryValue(t *testing.T) {
	h, _ := filled(t, 1, 1000)
	lines := strings.Split(strings.TrimSpace(string(h.spectrum())), "\n")
	require.Equal(t, []string{"Value", "Percentile", "TotalCount", "1/(1-Percentile)"}, strings.Fields(lines[0]))
	require.Equal(t, []string{"1.000000", "1000", "inf"}, strings.Fields(lines[len(lines)-4])[1:])
	require.Contains(t, string(NewHistogram().spectrum()), "TotalCount")
}

// So is a file whose figures contradict each other.
func TestUnreadableRunFiles(t *testing.T) {
	r := Sample(1, 100, 1)
	good := encoded(r)
	p50 := fmt.Sprintf(`"p50": %d`, r.Histograms.Lateness.Quantile(.5))
	changed := func(change func(*Document)) string {
		r := Sample(1, 100, 1)
		r.Judge(nil)
		change(r)
		return encoded(r)
	}
	for name, tc := range map[string]struct{ file, want string }{
		"empty":                            {"", "no whole JSON object"},
		"half":                             {good[:len(good)/2], "no whole JSON object"},
		"an array":                         {"[]", "no whole JSON object"},
		"foreign":                          {`{"metrics":{}}`, `expected schema "dq-bench/run/v1", got ""`},
		"newer":                            {strings.Replace(good, "run/v1", "run/v2", 1), "or a newer one"},
		"comparison":                       {`{"schema":"dq-bench/comparison/v1"}`, "is it a run.json"},
		"no histograms":                    {`{"schema":"dq-bench/run/v1"}`, "is missing"},
		"wrong type":                       {strings.Replace(good, `"offered": 100`, `"offered": "x"`, 1), "damaged"},
		"counts disagree":                  {strings.Replace(good, `"delivered": 100`, `"delivered": 99`, 1), "damaged"},
		"negative count":                   {strings.Replace(good, `"lost": 0`, `"lost": -1`, 1), "damaged: expected counts from 0"},
		"negative CPU":                     {strings.Replace(good, `"cpu_seconds": 0.5`, `"cpu_seconds": -1`, 1), "damaged: expected server statistics from 0 to 10000000000000, got -1"},
		"huge CPU":                         {strings.Replace(good, `"cpu_seconds": 0.5`, `"cpu_seconds": 1e305`, 1), "damaged: expected server statistics from 0 to 10000000000000, got 1e+305"},
		"none pending":                     {strings.Replace(good, `"pending": 0`, `"pending": 0, "not_due": 7`, 1), "damaged: 0 messages pending, but 7 of them not due"},
		"lost of none":                     {strings.Replace(good, `"lost": 0`, `"lost": 101`, 1), "damaged: 100 messages offered, but 100 delivered, 101 lost"},
		"no start":                         {strings.Replace(good, `"started"`, `"begun"`, 1), "damaged: it says that it was started at 0001"},
		"another unit":                     {strings.Replace(good, `"unit": "ns"`, `"unit": "ms"`, 1), `expected unit "ns"`},
		"another count":                    {strings.Replace(good, `"count": 100`, `"count": 99`, 1), "count says 99"},
		"a least above the greatest":       {strings.Replace(good, fmt.Sprintf(`"min": %d`, r.Histograms.Lateness.Min()), `"min": 5000000000`, 1), "contradict"},
		"no base64":                        {strings.Replace(good, `"hdr": "HIST`, `"hdr": "%`, 1), "hdr is no HdrHistogram"},
		"early values gutted":              {strings.Replace(good, `"hdr_negative": "HIST`, `"hdr_negative": "HIST%`, 1), "hdr_negative is no HdrHistogram"},
		"histogram gutted":                 {strings.Replace(good, `"hdr": "HIST`, `"hdr": "HXST`, 1), "HdrHistogram"},
		"another median":                   {strings.Replace(good, p50, `"p50": 1`, 1), "p50 says 1"},
		"not passed, and nothing is wrong": {changed(func(r *Document) { r.Verdict.Passed = false }), "damaged"},
		"passed, and an objective missed":  {changed(func(r *Document) { r.SLO = []Objective{{Expr: "lost>=1", Met: true}} }), "damaged: the verdict is passed, though: lost>=1 missed (0)"},
		"passed, and the text says no":     {changed(func(r *Document) { r.Verdict.Text = "Failed: 3 lost." }), "damaged: the verdict is passed, though"},
		"valid for no reason":              {changed(func(r *Document) { r.Validity = &Validity{true, []string{"the tool was slow"}} }), "damaged: valid is true, with"},
		"a second too many":                {changed(func(r *Document) { r.Intervals[0].Delivered = 100_000 }), "damaged: 100 messages delivered, but 100000 in its seconds"},
		"a negative second":                {changed(func(r *Document) { r.Intervals = append(r.Intervals, Interval{Second: 2, Delivered: -100}) }), "damaged: a second that ends at 2 s"},
		"past due of another run":          {changed(func(r *Document) { r.Histograms.PastDue = r.Histograms.OfferRTT }), "damaged: past due is "},
		"no time for offers":               {changed(func(r *Document) { r.ElapsedSeconds = 0 }), "damaged: 100 messages offered in 0 seconds"},
		"the year 9999":                    {changed(func(r *Document) { r.Started = r.Started.AddDate(7973, 0, 0) }), "damaged: it says that it was started at 9999-"},
		"passed, and an agent failed":      {changed(func(r *Document) { r.AgentFaults = []AgentFault{{Text: "stopped answering"}} }), "damaged"},
		"passed, and duplicates":           {changed(func(r *Document) { r.Counts.Duplicate = 3 }), "damaged"},
		"ended before it began":            {changed(func(r *Document) { r.ElapsedSeconds = -3 }), "damaged"},
		"hiccups of more than all time":    {changed(func(r *Document) { r.Machine = &Machine{Hiccups: Hiccups{Share: 55}} }), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(tc.file))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// The words of a file do nothing to a terminal: the file may be from elsewhere.
func TestWordsOfAFileAreInert(t *testing.T) {
	const hostile = "1.2\n\nBetter since 1.0: everything.\x1b[2J\a"
	r := Sample(1, 100, 1)
	r.RunID, r.Driver.Version, r.Notes = hostile, hostile, []string{hostile}
	r.Labels = map[string]string{hostile: hostile, "commit": "abc"}
	read, err := Decode([]byte(strings.Replace(encoded(r), "{", `{"later":1,`, 1))) // a program of the same schema may add fields
	require.NoError(t, err)
	const inert = `1.2\n\nBetter since 1.0: everything.\x1b[2J\a`
	require.Equal(t, []string{inert, inert, inert}, []string{read.RunID, read.Driver.Version, read.Notes[0]})
	require.Equal(t, map[string]string{inert: inert, "commit": "abc"}, read.Labels)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(encoded(Sample(1, 100, 1))))
	f.Add([]byte(`{"schema":"dq-bench/run/v1","histograms":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			return
		}
		// Whatever is accepted can be judged and written again.
		r.Judge(nil)
		_ = must(Decode([]byte(encoded(r))))
	})
}

// A folder with runs is no output, also by a link.
func TestAFolderWithRunsIsRefused(t *testing.T) {
	root := t.TempDir()
	used := filepath.Join(root, "used")
	store(t, filepath.Join(used, "1"), Sample(1, 10, 1))
	link := filepath.Join(root, "link")
	require.NoError(t, os.Symlink("used", link))
	for _, folder := range []string{root, used, link} {
		_, err := NewFolder(folder)
		require.ErrorContains(t, err, "run.json; choose another with --out", folder)
	}
	tidy := must(NewFolder(filepath.Join(root, "beside", "deep")))
	tidy()
	require.NoDirExists(t, filepath.Join(root, "beside"))
}

func encoded(r *Document) string { return string(must(r.Encode())) }

func store(t *testing.T, folder string, r *Document) {
	t.Helper()
	require.NoError(t, must(WriteFolder(folder, r)))
}

// A given link is followed, each run is found once, and a link to a folder within a folder is none of it.
func TestFindFollowsLinks(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	store(t, filepath.Join(root, "r", "1"), Sample(1, 10, 1))
	store(t, filepath.Join(root, "r", "2"), Sample(2, 10, 1))
	store(t, filepath.Join(outside, "3"), Sample(3, 10, 1))
	for link, to := range map[string]string{
		"latest": "r/2", "r/loop": "..", "elsewhere": outside, "one.json": "r/1/run.json", "again": "elsewhere", "gone": "nowhere", "r/up": filepath.Dir(root),
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, filepath.FromSlash(link))))
	}
	for paths, want := range map[string]string{
		".": "r/1/run.json r/2/run.json", "again": "again/3/run.json", "r/?": "r/1/run.json r/2/run.json", "latest": "latest/run.json", "one.json": "one.json",
		"r/1 r/1/run.json": "r/1/run.json",
	} {
		var named, wanted []string
		for path := range strings.FieldsSeq(paths) {
			named = append(named, filepath.Join(root, path))
		}
		for file := range strings.FieldsSeq(want) {
			wanted = append(wanted, filepath.Join(root, file))
		}
		require.Equal(t, wanted, must(Find(t.Context(), named...)))
	}
	_, err := Find(t.Context(), filepath.Join(root, "gone"))
	require.ErrorContains(t, err, "there is no such file")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "empty", "too"), 0o755))
	_, err = Find(t.Context(), filepath.Join(root, "empty"))
	require.ErrorContains(t, err, "expected at least one run.json below it")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Find(ended, root)
	require.ErrorIs(t, err, context.Canceled)

	// A FIFO by the name of a run file is told, not waited for; so is a link to nowhere.
	require.NoError(t, os.MkdirAll(filepath.Join(root, "r", "3"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "r", "4"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "r", "3", File), 0o600))
	require.NoError(t, os.Symlink("/nowhere", filepath.Join(root, "r", "4", File)))
	files := must(Find(t.Context(), root))
	require.Len(t, files, 4)
	_, err = ReadFile(t.Context(), files[2])
	require.ErrorContains(t, err, "expected a regular file")
	_, err = ReadFile(t.Context(), files[3])
	require.ErrorIs(t, err, os.ErrNotExist)
}

// must is for what fails only in a broken tree, such as reading one of its files.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
