package web

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// The sets that the ticked rows make.
func TestSets(t *testing.T) {
	folder := t.TempDir()
	write := func(id, version string, hour int) {
		r := run.Sample(uint64(hour), 10, 1)
		r.Driver.Version, r.Started = version, time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC)
		require.NoError(t, os.MkdirAll(filepath.Join(folder, id), 0o755))
		missing, err := run.WriteFolder(filepath.Join(folder, id), r)
		require.NoError(t, errors.Join(missing, err))
	}
	for i := range 8 {
		write(fmt.Sprint("r/dq-1/", i+1), "1", 2*i+i%2)
		write(fmt.Sprint("r/dq-2/", i+1), "2", 2*i+1-i%2)
	}
	write("one/1", "1", 97)
	write("other", "4.7.0", 98)
	write("alone", "4.7.0", 99)
	stored, err := NewStored(folder)
	require.NoError(t, err)
	for ids, want := range map[string]string{
		"r/dq-2 r/dq-1":                     "dq:1/8 dq:2/8",
		"r/dq-2 r/dq-2/1 r/dq-2/2 r/dq-1/1": "dq:1/1 dq:2/8",
		"r/dq-1/2 r/dq-1/1":                 "r/dq-1/1/1 r/dq-1/2/1",
		"r/dq-1/1 r/dq-2/2 r/dq-1/3":        "dq:1/2 dq:2/1",
		"r r/dq-1":                          "dq:1/16",
		"alone r/dq-1":                      "dq:1/8 dq:4.7.0/1",
		"alone other r/dq-1":                "r/dq-1/8 other/1 alone/1",
		"alone other":                       "other/1 alone/1",
		"one r/dq-1":                        "r/dq-1/8 one/1",
	} {
		choice, err := stored.choose(t.Context(), strings.Fields(ids))
		require.NoError(t, err)
		var got []string
		for _, set := range together(choice) {
			got = append(got, fmt.Sprintf("%s/%d", set.Name, len(set.Runs)))
		}
		require.Equal(t, want, strings.Join(got, " "), ids)
	}
}

func FuzzIsHere(f *testing.F) {
	for _, host := range []string{"127.0.0.1:80", "[::1]:80", "localhost", "evil.example", "bench.local:80", "", "[", "a:b:c"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if isHere(host, "bench.local") {
			require.NotContains(t, host, "evil")
		}
	})
}
