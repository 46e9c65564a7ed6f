package trace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// A client with a subscription transfers at the subscription, and when the head comes due.
func TestLiveness(t *testing.T) {
	const set, channel = "redisson_delay_queue_timeout:{orders}", "redisson_delay_queue_channel:{orders}"
	transfer := func(at float64, also string) string {
		now := int64(at * 1000)
		return fmt.Sprintf("%.6f [0 c:1] \"EVAL\" \"x\" \"0\"\n%.6f [0 lua] \"zrangebyscore\" \"%s\" \"0\" \"%d\" \"limit\" \"0\" \"100\"\n%s", at, at, set, now, also)
	}
	subscribe := `1.000000 [0 c:2] "SUBSCRIBE" "` + channel + "\"\n"
	offer := "2.000000 [0 c:1] \"EVAL\" \"y\" \"0\"\n2.000000 [0 lua] \"zadd\" \"" + set + "\" \"3000\" \"m\"\n2.000000 [0 lua] \"rpush\" \"redisson_delay_queue:{orders}\" \"m\"\n" +
		"2.000000 [0 lua] \"publish\" \"" + channel + "\" \"3000\"\n"
	for name, c := range map[string]struct{ text, broken string }{
		"never at the start":  {subscribe, "W-START-2"},
		"never when due":      {subscribe + transfer(1.1, "") + offer, "W-TIMER-1"},
		"in time":             {subscribe + transfer(1.2, "") + offer + transfer(3.2, ""), ""},
		"300 ms late":         {subscribe + transfer(1.1, "") + offer + transfer(3.3, ""), "W-TIMER-1"},
		"without subscribers": {offer, ""},
	} {
		rec, err := trace.Read(strings.NewReader(c.text), name)
		require.NoError(t, err)
		timeline := trace.NewTimeline(wire.NamesOf("orders"))
		timeline.Live = true
		var broken []trace.Breach
		for _, l := range rec.Lines {
			broken = append(broken, timeline.Add(l, true)...)
		}
		broken = append(broken, timeline.Until(6_000_000)...)
		found := ""
		for _, b := range slices.DeleteFunc(broken, func(b trace.Breach) bool { return !b.Late }) {
			found += b.Statement
		}
		require.Equal(t, c.broken, found, name)
	}
}
