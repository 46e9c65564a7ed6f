package load

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// What one writes to the mapped file, the other reads from it.
func TestLedgerFile(t *testing.T) {
	const messages = 3000
	path, err := makeLedgerFile(messages)
	require.NoError(t, err)
	defer os.Remove(path)
	l, err := openLedgerFile(path, messages)
	require.NoError(t, err)
	l.sent(7, 50, 40)
	l.answered(7, 45, nil)
	l.came(7, 50, 55)
	l.sent(8, 60, 41)
	l.answered(8, 46, errors.New("no"))
	l.sent(9, 61, 42)
	l.answered(9, 47, driver.Refused(errors.New("no")))
	l.came(messages-1, 70, 75)
	l.came(messages-1, 70, 76)
	l.came(messages-1, 70, 77)
	records, err := readLedgerFile(path, messages)
	require.NoError(t, err)
	require.Equal(t, record{Due: 50, Sent: 40, Answered: 45, Came: 55}, records[7])
	require.Equal(t, record{Due: 60, Sent: 41, Answered: -46}, records[8])
	require.Equal(t, []bool{false, false, true}, []bool{records[7].refused(), records[8].refused(), records[9].refused()})
	require.Equal(t, []int64{45, 46, 47, 0}, []int64{records[7].answered(), records[8].answered(), records[9].answered(), records[0].answered()})
	require.Less(t, records[9].Answered, int64(0))
	require.Equal(t, record{Due: 70, Came: 75, Again: 2}, records[messages-1])
	require.Equal(t, record{}, records[0])

	var none *ledgerFile
	none.sent(1, 1, 1)
	none.answered(1, 1, nil)
	none.came(1, 1, 1)
}

func TestLedgerFileThatIsShortOrMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "short")
	require.NoError(t, os.WriteFile(path, make([]byte, 79), 0o600))
	_, err := readLedgerFile(path, 2)
	require.ErrorContains(t, err, "expected 80 bytes, 40 for each of 2 messages, got 79")
	_, err = openLedgerFile(path, 2)
	require.ErrorContains(t, err, "expected 80 bytes")
	_, err = readLedgerFile(path+"er", 2)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = openLedgerFile(path+"er", 2)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// ledgerOf is that of one of two members, which offers messages 0, 2 and 4 of 6.
func ledgerOf() (plan.Part, []record, time.Time) {
	start := time.Unix(1000, 0)
	at := func(second float64) int64 { return start.UnixNano() + int64(second*1e9) }
	p := plan.DefaultPlan()
	p.Queue, p.Producers, p.Consumers, p.Rate, p.Duration = "q", 2, 2, 6, time.Second
	p.Fleet = plan.Instances(2)
	records := []record{
		{Due: at(1.1), Sent: at(.1), Answered: at(.2), Came: at(1.2)}, // told
		{Due: at(1.2), Came: at(1.5), Again: 1},                       // the other's, and twice
		{Due: at(1.3), Sent: at(.3), Answered: at(1.7)},               // still there
		{}, // the other's
		{Due: at(1.4), Sent: at(.4), Answered: -at(1.8), Came: at(1.4) - 2_000_000}, // refused, and it came early all the same
		{},
	}
	return plan.Part{RunID: 7, Plan: p, Role: plan.Role{Member: 0}}, records, start
}

// All but what was under way is known from the ledger.
func TestKilledOutcome(t *testing.T) {
	part, records, start := ledgerOf()
	require.True(t, plan.RosterOf(part.Plan, part.Role, plan.Measured).Offers(0, 0))
	require.False(t, plan.RosterOf(part.Plan, part.Role, plan.Measured).Offers(1, 0))
	o, err := killedOutcome(part, records, start, toldSoFar{end: 1, offered: 1, answers: 1, deliveries: 1, delivered: 1}, 2.001)
	require.NoError(t, err)
	second := func(s float64) int64 { return start.UnixNano() + int64(s*1e9) }
	require.Equal(t, counts{
		Attempted: 3, Confirmed: 2, Failed: 1, Delivered: 3, Duplicate: 1, Early: 1,
		LastDue: second(1.4), LastCame: second(1.5), // 1 that is missing, less 1 of the other's
	}, o.counts)
	require.Equal(t, []byte{0b00000101}, o.sets.Confirmed)
	require.Equal(t, []byte{0b00010011}, o.sets.Delivered)
	require.EqualValues(t, 3, o.histograms.Lateness.Count())
	require.EqualValues(t, 300*time.Millisecond, o.histograms.Lateness.Max())
	require.EqualValues(t, 3, o.histograms.OfferRTT.Count())
	require.EqualValues(t, 1400*time.Millisecond, o.histograms.OfferRTT.Max())
	require.EqualValues(t, 3, o.histograms.ResponseTime.Count())
	require.EqualValues(t, 3, o.histograms.ScheduleLag.Count())

	require.Len(t, o.latest, 2, "as far as they are late at all")

	require.Len(t, o.seconds, 1)
	last := o.seconds[0]
	require.EqualValues(t, 2, last.End, "the second that it was about to tell")
	require.EqualValues(t, 1, last.Offered)
	require.EqualValues(t, 2, last.Delivered)
	require.EqualValues(t, 1, last.Failed)
	require.EqualValues(t, 2, last.Lateness.Count())
	require.EqualValues(t, 300*time.Millisecond, last.Lateness.Max())
	require.EqualValues(t, 2, last.OfferRTT.Count())
}

func TestLedgerThatContradictsWhatWasTold(t *testing.T) {
	part, records, start := ledgerOf()
	_, err := killedOutcome(part, records, start, toldSoFar{end: 1, offered: 5}, 2)
	require.ErrorContains(t, err, "expected at least what was told, 5 offers confirmed")
}
