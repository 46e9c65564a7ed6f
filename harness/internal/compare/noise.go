package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

const (
	// NoiseSchema is the schema of a Noise.
	NoiseSchema = "dq-bench/noise/v1"
	// NoiseFile is the name of a Noise that is kept beside the runs it was taken from.
	NoiseFile = "noise.json"
	// noiseSplits is how often the runs are split in two.
	noiseSplits = 200
)

// Noise is how much runs of one implementation differ from each other on a machine.
type Noise struct {
	Schema string `json:"schema"`
	// Driver, Runs and Started say what was measured.
	Driver  string    `json:"driver"`
	Runs    int       `json:"runs"`
	Started time.Time `json:"started"`
	// Configuration and Circumstances are those it is good for, by name.
	Configuration map[string]string `json:"configuration"`
	// Floors are in ns, by figure, such as "past_due p99": in 95 of 100 splits of the runs
	// in two, the 95 % interval of the shift lies within plus or minus as much. Of runs that
	// were made in pairs, the splits have one of each pair on either side.
	Floors map[string]float64 `json:"floors_ns"`
}

// NewNoise takes the noise from at least 2·MinRuns runs of one implementation and
// configuration, in any order. It fails with a *run.DifferenceError where they are not
// of one, and with an *UnfitError where some cannot be judged. Interrupted ones, and their partners, are left out.
func NewNoise(same []*run.Document) (*Noise, error) {
	same, cut := whole(same)
	if len(same) < 2*MinRuns {
		but := ""
		if len(cut) > 0 {
			but = fmt.Sprintf(" besides %d that are left out as interrupted", len(cut))
		}
		return nil, fmt.Errorf("noise: expected at least %d runs of one implementation, got %d%s", 2*MinRuns, len(same), but)
	}
	if err := refused(allDifferences(same, same, true), allUnfit(same, nil)); err != nil {
		return nil, err
	}
	n := &Noise{
		Schema: NoiseSchema, Driver: same[0].Driver.String(), Runs: len(same), Started: same[0].Started,
		Configuration: map[string]string{}, Floors: map[string]float64{},
	}
	for _, field := range conditions(same[0]) {
		n.Configuration[field.Name] = field.Value
	}
	a, b, inPairs := halves(same)
	for _, f := range figuresOf(same) {
		values := f.values(same)
		switch {
		case !f.judged || values == nil:
		case !inPairs:
			n.Floors[f.key()] = floorOf(values)
		default:
			if differences, inLogs := f.pairs(a, b); differences != nil {
				n.Floors[f.key()] = floorOfPairs(differences, inLogs, stats.Median(values))
			}
		}
	}
	return n, nil
}

// floorOfPairs is floorOf of runs in pairs: it swaps those of each pair at random.
func floorOfPairs(differences []float64, inLogs bool, median float64) float64 {
	rng := rand.New(rand.NewPCG(1, uint64(len(differences))))
	swapped := make([]float64, len(differences))
	return farEnd(func() stats.Shift {
		for i, d := range differences {
			swapped[i] = d * float64(1-2*rng.IntN(2))
		}
		shift := stats.PairedShift(swapped, 1-significance)
		if inLogs {
			shift.Low, shift.High = median*math.Expm1(shift.Low), median*math.Expm1(shift.High)
		}
		return shift
	})
}

// floorOf splits the values at random in two, and takes the far end of the shifts.
func floorOf(values []float64) float64 {
	rng := rand.New(rand.NewPCG(1, uint64(len(values)))) // the same for the same runs
	shuffled := slices.Clone(values)
	return farEnd(func() stats.Shift {
		rng.Shuffle(len(shuffled), func(a, b int) { shuffled[a], shuffled[b] = shuffled[b], shuffled[a] })
		half := len(shuffled) / 2
		return stats.HodgesLehmann(shuffled[:half], shuffled[half:], 1-significance)
	})
}

// farEnd is what the further end of the interval of all but 5 % of the splits stays below.
func farEnd(split func() stats.Shift) float64 {
	ends := make([]float64, noiseSplits)
	for i := range ends {
		shift := split()
		ends[i] = max(math.Abs(shift.Low), math.Abs(shift.High))
	}
	slices.Sort(ends)
	return ends[int((1-significance)*noiseSplits)-1]
}

// conditions are what a noise is good for.
func conditions(r *run.Document) []run.Field {
	return slices.Concat(r.Configuration(), r.Circumstances())
}

// differences says where a run was made under other conditions.
func (n *Noise) differences(r *run.Document) []string {
	var measured []run.Field
	for name, value := range n.Configuration {
		measured = append(measured, run.Field{Name: name, Value: value})
	}
	slices.SortFunc(measured, func(a, b run.Field) int { return cmp.Compare(a.Name, b.Name) })
	differences := run.Differ(measured, conditions(r))
	for i := range differences {
		differences[i] = "noise: " + differences[i]
	}
	return differences
}

// Write keeps the noise in a folder of runs.
func (n *Noise) Write(dir string) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return run.WriteWhole(filepath.Join(dir, NoiseFile), append(text, '\n'))
}

// maxNoiseFile bounds what is read of a noise file, in bytes: there are some hundred in one.
const maxNoiseFile = 1 << 20

// ReadNoise reads a noise file.
func ReadNoise(path string) (*Noise, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxNoiseFile))
	if err != nil {
		return nil, err
	}
	n, err := parseNoise(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

func parseNoise(text []byte) (*Noise, error) {
	n := &Noise{}
	if err := json.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("expected a noise file: %w", err)
	}
	if n.Schema != NoiseSchema {
		return nil, fmt.Errorf("expected the schema %s, got %q", NoiseSchema, n.Schema)
	}
	for name, floor := range n.Floors {
		if !(floor >= 0) || math.IsInf(floor, 0) {
			return nil, fmt.Errorf("floor of %s: expected 0 or more ns, got %v", name, floor)
		}
	}
	return n, nil
}

// FindNoise looks for a noise file in the folders of runs, and in the two above each; it
// returns "" if there is none.
func FindNoise(paths ...string) string {
	for _, path := range paths {
		for _, dir := range []string{path, filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
			file := filepath.Join(dir, NoiseFile)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				return file
			}
		}
	}
	return ""
}
