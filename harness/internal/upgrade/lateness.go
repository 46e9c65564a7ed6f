package upgrade

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Lateness is how late a release delivered what it was measured with: few messages a second, so
// that what one sees is how exactly its timers wake and not how much it can carry.
type Lateness struct {
	// Measured is the release that was, the nearest one with the same timers; Rate in messages/s.
	Measured string  `json:"measured"`
	Rate     float64 `json:"rate"`
	Messages int64   `json:"messages"`
	Runs     int     `json:"runs"`
	// PastDueMs are quantiles of the time from when a message was due to when it was there, in ms.
	PastDueMs struct {
		P50 float64 `json:"p50"`
		P90 float64 `json:"p90"`
	} `json:"past_due_ms"`
}

// lateness reads what was measured of the release that stands for one; nil where none does.
func (r Recordings) lateness(release wire.Release) (*Lateness, error) {
	measured := map[wire.Release][]*run.Document{}
	err := fs.WalkDir(r.Lateness, "lateness", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(file) != "run.json" {
			return err
		}
		f, err := r.Lateness.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		document, err := run.Decode(f)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		of, err := wire.LookupRelease(document.Driver.Version)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		measured[of] = append(measured[of], document)
		return nil
	})
	if err != nil {
		return nil, err
	}
	alike := slices.DeleteFunc(slices.Collect(maps.Keys(measured)), func(one wire.Release) bool { return one.TimerTick() != release.TimerTick() })
	of, ok := nearest(release, alike)
	if !ok {
		return nil, nil //nolint:nilnil // nothing was measured that says something of this release
	}
	return latenessOf(of, measured[of])
}

func latenessOf(release wire.Release, runs []*run.Document) (*Lateness, error) {
	all := run.NewHistograms().PastDue
	for _, one := range runs {
		if err := all.Merge(one.Histograms.PastDue); err != nil {
			return nil, err
		}
	}
	ms := func(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }
	late := &Lateness{Measured: release.String(), Rate: runs[0].Scenario.Rate, Messages: all.Count(), Runs: len(runs)}
	late.PastDueMs.P50, late.PastDueMs.P90 = ms(all.Quantile(0.5)), ms(all.Quantile(0.9))
	return late, nil
}

// enoughRuns is from how many runs of a side on dq-bench compare tells a difference.
const enoughRuns = 6

// toldByLateness says how far what was measured of two releases tells a difference; nothing where it does.
func toldByLateness(from, to wire.Release, measured ...*Lateness) string {
	fewest := enoughRuns
	for _, late := range measured {
		if late == nil {
			return ""
		}
		fewest = min(fewest, late.Runs)
	}
	switch {
	case measured[0].Measured == measured[1].Measured:
		return "The timers of both are the same: one measurement stands for both."
	case fewest == enoughRuns:
		return ""
	}
	runs := "one run a side"
	if fewest > 1 {
		runs = fmt.Sprintf("%d runs a side", fewest)
	}
	if from.TimerTick() == to.TimerTick() {
		return "The timers of both tick alike, and by " + runs + " no difference can be told: how the ticks fall between the messages changes from run to run."
	}
	return "By " + runs + ": how the ticks fall between the messages changes from run to run."
}

// writeLateness puts both beside each other.
func (c *Changes) writeLateness(b *strings.Builder) {
	if c.Lateness.From == nil || c.Lateness.To == nil {
		return
	}
	fmt.Fprintf(b, "\nHow late messages are, measured with %g a second\n", c.Lateness.From.Rate)
	for _, side := range []struct {
		release string
		late    *Lateness
	}{{c.From, c.Lateness.From}, {c.To, c.Lateness.To}} {
		stands := ""
		if side.release != side.late.Measured {
			stands = fmt.Sprintf(", by %s, whose timers are the same", side.late.Measured)
		}
		p := side.late.PastDueMs
		text.Wrap(b, fmt.Sprintf("  %-7s ", side.release), fmt.Sprintf("past due p50 %.1f ms, p90 %.1f ms, of %d messages%s",
			p.P50, p.P90, side.late.Messages, stands))
	}
	if c.Lateness.Told != "" {
		text.Wrap(b, "  ", c.Lateness.Told)
	}
}
