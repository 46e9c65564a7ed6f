package migrate

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/values"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// surveyChunk is how many values of the destination queue are read at once.
const surveyChunk = 256

// survey reads the queue. The Index knows afterwards which members are not listed, unless the Values are
// unsure.
func (r *recoding) survey(ctx context.Context) (Values, *forensics.Index, error) {
	v := Values{}
	timed := forensics.NewIndex(0)
	if err := r.surveyDelivered(ctx, &v); err != nil {
		return v, nil, err
	}
	pending := r.pendingList()
	err := r.reader.TimeoutSet(ctx, func(chunk []redis.Z) error {
		members := make([]string, len(chunk))
		for i, z := range chunk {
			members[i] = z.Member
			timed.Add(members[i])
			if value, _ := openMember(members[i]); value == nil {
				v.Unreadable++
			}
		}
		v.TimeoutSet += len(chunk)
		fates, err := r.judge(ctx, members, pending)
		if err != nil {
			return err
		}
		for i, f := range fates {
			switch {
			case f.refused.Reason != "":
				v.refuse(pending, members[i], f.refused, int64(chunk[i].Score))
			case f.fresh != nil:
				v.Members++
				v.example(pending, members[i], *f.fresh)
			}
		}
		return nil
	})
	if err != nil {
		return v, nil, err
	}
	return v, timed, r.surveyPending(ctx, &v, timed)
}

// surveyPending counts the entries of the pending list.
func (r *recoding) surveyPending(ctx context.Context, v *Values, timed *forensics.Index) error {
	var wrong error
	var batch []string
	pending := r.pendingList()
	flush := func() {
		fates, err := r.judge(ctx, batch, pending)
		if err != nil {
			wrong = err
		}
		for _, f := range fates {
			if f.fresh != nil {
				v.Entries++
			}
		}
		batch = batch[:0]
	}
	difference, err := forensics.Compare(ctx, r.reader, timed, func(index int, entry string) {
		if index == 0 {
			v.PendingList, v.Entries, batch = 0, 0, nil // the walk was begun anew
		}
		v.PendingList++
		if batch = append(batch, entry); len(batch) == surveyChunk {
			flush()
		}
	})
	flush()
	for _, entry := range difference.Ghosts.First {
		if f, err := r.judge(ctx, []string{entry}, pending); err == nil && f[0].refused.Reason != "" {
			v.refuse(pending, entry, f[0].refused, 0)
		}
	}
	v.Unsure = difference.Lost || difference.Deep
	v.sort()
	if err == nil {
		err = wrong
	}
	return err
}

// surveyDelivered counts the values of the destination queue.
func (r *recoding) surveyDelivered(ctx context.Context, v *Values) error {
	r.delivered = map[string]bool{}
	l := r.deliveredList()
	for start := int64(0); ; start += surveyChunk {
		values, err := r.client.Do(ctx, "LRANGE", l.key, start, start+surveyChunk-1).StringSlice()
		if err != nil {
			return fmt.Errorf("LRANGE %s: %w", l.key, err)
		}
		fates, err := r.judge(ctx, values, l)
		if err != nil {
			return err
		}
		v.Waiting += len(values)
		for i, f := range fates {
			switch {
			case f.refused.Reason != "":
				v.refuse(l, values[i], f.refused, 0)
			case f.fresh != nil:
				v.WaitingOld++
				r.delivered[values[i]] = true
				v.example(l, values[i], *f.fresh)
			}
		}
		if len(values) < surveyChunk {
			return nil
		}
	}
}

// example takes note of the first value that is to be rewritten.
func (v *Values) example(l list, before, after string) {
	if v.Example[0] != "" {
		return
	}
	for i, entry := range []string{before, after} {
		value, _ := l.open(entry)
		v.Example[i] = fmt.Sprintf("%.60s", value)
		if shown, err := values.Show(values.Detect(value).Likeliest(), value); strings.ContainsFunc(v.Example[i], func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
			v.Example[i] = fmt.Sprintf("%.40x", value)
			if err == nil {
				v.Example[i] += fmt.Sprintf(" (%.60s)", shown)
			}
		}
	}
}
