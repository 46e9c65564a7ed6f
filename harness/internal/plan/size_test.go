package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSizesHaveUnits(t *testing.T) {
	for text, want := range map[string]int{
		"100": 100, "0x64": 100, "0x1B": 27, "100B": 100, "64kB": 64_000, "64KB": 64_000, "64KiB": 65_536, "1MB": 1_000_000, "1 MiB": 1 << 20, "-1kB": -1000,
	} {
		p := DefaultPlan()
		require.NoError(t, p.Set("payload_size", text), text)
		require.Equal(t, want, p.PayloadSize, text)
	}
	for _, text := range []string{"", "1.5MB", "64k", "1mb", "1GB", "MB", "9223372036854775807MiB", "-9223372036854775808kB"} {
		p := DefaultPlan()
		require.ErrorContains(t, p.Set("payload_size", text), "such as 100, 64kB, 64KiB, 1MB or 1MiB, got", text)
	}
}

func TestRatesHaveUnits(t *testing.T) {
	for text, want := range map[string]Rate{
		"1000": 1000, "1k": 1000, "1k/s": 1000, "1.5K/s": 1500, "6k/m": 100, "2M/s": 2e6, "500/100ms": 5000,
	} {
		rate, err := ParseRate(text)
		require.NoError(t, err, text)
		require.InEpsilon(t, float64(want), float64(rate), 1e-12, text)
	}
	for _, text := range []string{"", "k", "k/s", "1kk", "1000rps", "1000/fortnight", "NaN", "Infk", "2000M/s", time.Second.String()} {
		_, err := ParseRate(text)
		require.ErrorContains(t, err, "such as 1000/s", text)
	}
}
