package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSittings(t *testing.T) {
	const minute = time.Minute
	tests := []struct {
		name  string
		lasts time.Duration
		// starts are after the first hour.
		starts []time.Duration
		want   []int
	}{
		{"no run", minute, nil, nil},
		{"one run", minute, []time.Duration{0}, []int{1}},
		{"two evenings", minute, []time.Duration{0, 2 * minute, 4 * minute, 24 * time.Hour, 24*time.Hour + 2*minute}, []int{3, 2}},
		{"every night", minute, []time.Duration{0, 24 * time.Hour, 48 * time.Hour}, []int{1, 1, 1}},
		{"a pause for a cup of tea", 10 * time.Second, []time.Duration{0, 20 * time.Second, 40 * time.Second, 9 * minute}, []int{4}},
		{"every hour", minute, []time.Duration{0, time.Hour, 2 * time.Hour}, []int{1, 1, 1}},
		{"half an hour each, one after the other", 30 * minute, []time.Duration{0, 31 * minute, 62 * minute}, []int{3}},
		{"of eight hours, one after the other", 8 * time.Hour, []time.Duration{0, 8*time.Hour + minute, 16*time.Hour + 2*minute}, []int{1, 1, 1}},
		{"a short one while a long one still runs", 90 * minute, []time.Duration{0, minute, 95 * minute}, []int{3}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			first := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
			var runs []*Document
			for _, start := range test.starts {
				runs = append(runs, &Document{Started: first.Add(start), ElapsedSeconds: test.lasts.Seconds()})
			}
			var got []int
			for _, sitting := range Sittings(runs) {
				got = append(got, len(sitting))
			}
			assert.Equal(t, test.want, got)
		})
	}
}
