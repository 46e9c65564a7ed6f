package run

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// bitmapOf is a bitmap with the given messages.
func bitmapOf(messages ...int) []byte {
	bitmap := make([]byte, 2)
	for _, i := range messages {
		bitmap[i/8] |= 1 << (i % 8)
	}
	return bitmap
}

func setOf(t *testing.T, messages ...int) MessageSet {
	t.Helper()
	set, err := NewMessageSet(bitmapOf(messages...))
	require.NoError(t, err)
	return set
}

// twoWorkers split ten messages. Worker 1 offers the odd ones, worker 2 the even.
func twoWorkers(t *testing.T) []*Document {
	t.Helper()
	run := func(number int, offered []int, delivered ...int) *Document {
		r := &Document{
			RunID: "0000abcd", Driver: Driver{Name: "dq"},
			Scenario:   Scenario{Producers: 2, Consumers: 2, Rate: 10, Messages: 10, Delay: "5s"},
			Histograms: Histograms{Lateness: NewHistogram(TotalDigits), OfferRTT: NewHistogram(TotalDigits), ScheduleLag: NewHistogram(TotalDigits)},
			Counts:     Counts{Offered: int64(len(offered)), Delivered: int64(len(delivered))},
			Worker:     &Worker{Number: number, Count: 2, Confirmed: setOf(t, offered...), Delivered: setOf(t, delivered...)},
		}
		for range delivered {
			r.Histograms.Lateness.Record(1000)
		}
		return r
	}
	return []*Document{run(1, []int{1, 3, 5, 7, 9}, 0, 1, 2, 3), run(2, []int{0, 2, 4, 6, 8}, 4, 5, 6, 7, 8, 9)}
}

func TestWorkersTakeEachOthersMessages(t *testing.T) {
	merged, err := Merge(twoWorkers(t))
	require.NoError(t, err)
	require.Equal(t, Counts{Offered: 10, Delivered: 10}, merged.Counts)
	require.Equal(t, Scenario{Producers: 2, Consumers: 2, Rate: 10, Messages: 10, Delay: "5s"}, merged.Scenario, "the whole one, not a sum")
	require.EqualValues(t, 10, merged.Histograms.Lateness.Count())
	require.Nil(t, merged.Worker)
	require.Equal(t, 2, merged.Workers)
	require.True(t, merged.Judge(nil).Passed, merged.Verdict.Text)
}

func TestFaultsAreSeenInTheUnionOnly(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, runs []*Document)
		want   Counts
	}{
		{"lost: nobody took 9", func(t *testing.T, runs []*Document) {
			runs[1].Worker.Delivered, runs[1].Counts.Delivered = setOf(t, 4, 5, 6, 7, 8), 5
		}, Counts{Offered: 10, Delivered: 9, Lost: 1}},
		{"nobody can tell: no worker could read what is held", func(t *testing.T, runs []*Document) {
			runs[1].Worker.Delivered, runs[1].Counts.Delivered = setOf(t, 4, 5, 6, 7, 8), 5
			runs[0].Worker.Unread, runs[1].Worker.Unread = true, true
		}, Counts{Offered: 10, Delivered: 9, Unknown: 1}},
		{"lost: the worker that asked last could read what is held", func(t *testing.T, runs []*Document) {
			runs[1].Worker.Delivered, runs[1].Counts.Delivered = setOf(t, 4, 5, 6, 7, 8), 5
			runs[0].Worker.Unread, runs[1].Worker.AskedSeconds = true, 3
		}, Counts{Offered: 10, Delivered: 9, Lost: 1}},
		{"nobody can tell: the worker that asked last could not, so what another was told before holds no more", func(t *testing.T, runs []*Document) {
			runs[1].Worker.Delivered, runs[1].Counts.Delivered = setOf(t, 4, 5, 6, 7), 4
			runs[0].Worker.Held, runs[0].Worker.NotDue, runs[0].ElapsedSeconds = setOf(t, 6, 8), setOf(t, 6, 8), 6
			runs[1].Worker.Unread, runs[1].ElapsedSeconds = true, 14
		}, Counts{Offered: 10, Delivered: 8, Unknown: 2}},
		{"lost: held when one worker ended, and no more when the last did", func(t *testing.T, runs []*Document) {
			runs[1].Worker.Delivered, runs[1].Counts.Delivered = setOf(t, 4, 5, 6, 7), 4
			runs[0].Worker.Held, runs[0].Worker.AskedSeconds = setOf(t, 8, 9), 6
			runs[1].Worker.Held, runs[1].Worker.AskedSeconds = setOf(t, 8), 14
		}, Counts{Offered: 10, Delivered: 8, Pending: 1, Lost: 1}},
		{"duplicate: both took 3", func(t *testing.T, runs []*Document) {
			runs[1].Worker.Delivered, runs[1].Counts.Delivered = setOf(t, 3, 4, 5, 6, 7, 8, 9), 7
		}, Counts{Offered: 10, Delivered: 10, Duplicate: 1}},
		{"duplicate: one took a message twice", func(_ *testing.T, runs []*Document) {
			runs[0].Counts.Duplicate = 2
		}, Counts{Offered: 10, Delivered: 10, Duplicate: 2}},
		{"pending: 9 is held, by what either of them saw, and not due", func(t *testing.T, runs []*Document) {
			runs[1].Worker.Delivered, runs[1].Counts.Delivered = setOf(t, 4, 5, 6, 7, 8), 5
			runs[0].Worker.Held, runs[0].Worker.NotDue = setOf(t, 8, 9), setOf(t, 8, 9)
		}, Counts{Offered: 10, Delivered: 9, Pending: 1, NotDue: 1}},
		{"an offer that failed and was delivered by another", func(t *testing.T, runs []*Document) {
			runs[0].Worker.Confirmed, runs[0].Counts.OfferErrors = setOf(t, 1, 3, 5, 7), 1
		}, Counts{Offered: 10, Delivered: 10, OfferErrors: 1}},
		{"cancelled, and one of them taken by another all the same", func(t *testing.T, runs []*Document) {
			runs[0].Worker.Removed = setOf(t, 7, 9)
			runs[1].Worker.Delivered, runs[1].Counts.Delivered = setOf(t, 4, 5, 6, 7, 8), 5
		}, Counts{Offered: 10, Delivered: 9, Removed: 1, Revived: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runs := twoWorkers(t)
			tc.change(t, runs)
			merged, err := Merge(runs)
			require.NoError(t, err)
			require.Equal(t, tc.want, merged.Counts)
		})
	}
}

func TestMergeRefusesWhatIsNotTheWhole(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(runs []*Document) []*Document
		want   string
	}{
		{"one missing", func(runs []*Document) []*Document { return runs[:1] }, "1 of the 2 workers of run 0000abcd are missing"},
		{"same share", func(runs []*Document) []*Document { runs[1].Worker.Number = 1; return runs }, "are the same share"},
		{"other run", func(runs []*Document) []*Document { runs[1].RunID = "1"; return runs }, "expected workers of one run"},
		{"not a worker", func(runs []*Document) []*Document { runs[1].Worker = nil; return runs }, "is no worker's"},
		{"other scenario", func(runs []*Document) []*Document { runs[1].Scenario.Seed = 9; return runs }, "different configurations"},
		{"other delay", func(runs []*Document) []*Document { runs[1].Scenario.Delay = "6s"; return runs }, "delay: 5s is not 6s"},
		{"both offered one", func(runs []*Document) []*Document { runs[1].Worker.Confirmed = runs[0].Worker.Confirmed; return runs }, "offered by another worker too"},
		{"counts and set differ", func(runs []*Document) []*Document { runs[1].Counts.Delivered = 3; return runs }, "delivered holds 6 messages, the counts say 3"},
		{"no set", func(runs []*Document) []*Document { runs[1].Worker.Held = "!"; return runs }, "expected base64 of a DEFLATE stream"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Merge(tc.change(twoWorkers(t)))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestClocksApartAreStated(t *testing.T) {
	runs := twoWorkers(t)
	for i, offset := range []int64{-1_000_000, 3_000_000} {
		runs[i].Environment.ClockOffsetNs, runs[i].Environment.ClockErrorNs = &offset, 50_000
	}
	merged, err := Merge(runs)
	require.NoError(t, err)
	require.Contains(t, merged.Notes[0], "1/2 -1ms ±50µs, 2/2 3ms ±50µs")
	require.Contains(t, merged.Notes[0], "at most 4.1ms apart")
	require.Nil(t, merged.Environment.ClockOffsetNs)
}

func TestWorkerAloneIsNotJudged(t *testing.T) {
	run := twoWorkers(t)[0]
	slo, err := ParseSLO("delivered>=10")
	require.NoError(t, err)
	require.True(t, run.Judge([]SLO{slo}).Passed)
	require.Contains(t, run.Verdict.Text, "'dq-bench merge' judges the whole")
	require.Empty(t, run.SLO)
}

func TestMessageSetKeepsToItsBounds(t *testing.T) {
	bitmap, err := setOf(t, 0, 9).Bitmap(10)
	require.NoError(t, err)
	require.Equal(t, bitmapOf(0, 9), bitmap)
	for name, n := range map[string]int64{"by a bit": 9, "by a byte": 8} {
		_, err := setOf(t, 0, 9).Bitmap(n)
		require.ErrorContains(t, err, "holds more than", name)
	}
	_, err = MessageSet("").Bitmap(plan.MaxSharedMessages + 1)
	require.ErrorContains(t, err, "expected at most")
}

func FuzzMessageSet(f *testing.F) {
	for _, bitmap := range [][]byte{nil, {1}, bitmapOf(3, 12)} {
		set, err := NewMessageSet(bitmap)
		require.NoError(f, err)
		f.Add(string(set), int64(13))
	}
	f.Add(base64.StdEncoding.EncodeToString([]byte{3, 0}), int64(0))
	f.Fuzz(func(t *testing.T, text string, n int64) {
		n %= 1 << 16
		bitmap, err := MessageSet(text).Bitmap(n)
		if err != nil {
			return
		}
		require.Len(t, bitmap, int(n+7)/8)
		again, err := NewMessageSet(bitmap)
		require.NoError(t, err)
		same, err := again.Bitmap(n)
		require.NoError(t, err)
		require.Equal(t, bitmap, same)
	})
}

// What a worker was to be judged by, the whole is.
func TestObjectivesOfWorkersReachTheWhole(t *testing.T) {
	missed, lossy := mustSLO(t, "delivered==11"), mustSLO(t, "lost>0")
	runs := twoWorkers(t)
	for _, r := range runs {
		require.True(t, r.Judge([]SLO{missed}, lossy).Passed, "a part is not judged")
		require.Empty(t, r.SLO)
	}
	merged, err := Merge(runs)
	require.NoError(t, err)
	require.False(t, merged.Judge([]SLO{mustSLO(t, "early<=0")}).Passed)
	var judged []string
	for _, o := range merged.SLO {
		judged = append(judged, o.Expr)
	}
	require.Equal(t, []string{"delivered==11", "early<=0", "lost>0"}, judged)
	require.Contains(t, merged.Verdict.Text, "delivered==11")

	runs[1].Worker.Objectives = []string{"delivered is 11"}
	_, err = Merge(runs)
	require.ErrorContains(t, err, "worker 2/2: damaged")
}
