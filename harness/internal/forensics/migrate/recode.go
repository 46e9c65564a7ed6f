package migrate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/values"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// JournalKey returns the name of the HASH that keeps which values of the queue with the destination dest
// are rewritten, where either codec reads them. It is in the slot of the other keys.
func JournalKey(dest string) string { return wire.PrefixName("redisson_delay_queue_recoded", dest) }

// journalLife is for how long a journal is kept after its last change: a second run that comes later
// than that would rewrite its values again.
const journalLife = 30 * 24 * time.Hour

// recoding is a migration to another codec under way.
type recoding struct {
	client  redis.Conn
	reader  *forensics.Reader
	names   wire.Names
	options RecodeOptions
	batch   batch
	result  *Recoding
	// delivered has the values of the destination queue that are to be rewritten, as the last survey
	// found them.
	delivered map[string]bool
}

// Recode writes the values of the queue with that destination in another codec: of what waits for its
// time, and of what was delivered and not taken. A value that is refused stays as it is. It fails with a
// *CodecSubscribedError where it refuses all; then nothing was changed. Where it ends early, the Recoding
// says what was done until then, and a new Recode goes on.
func Recode(ctx context.Context, client redis.Conn, dest string, options RecodeOptions) (*Recoding, error) {
	began := time.Now()
	r := &recoding{
		client: client, names: wire.NamesOf(dest), options: options, batch: batch{size: firstBatch},
		result: &Recoding{
			Schema: RecodingSchema, Queue: dest, From: options.From, To: options.To, DryRun: options.DryRun,
			Held: Held{Key: forensics.HeldKey(dest)}, Journal: JournalKey(dest),
		},
	}
	err := r.run(ctx)
	done := &r.result.Done
	done.Batches, done.LongestMS = r.batch.calls, milliseconds(r.batch.longest)
	done.TookMS = milliseconds(time.Since(began))
	return r.result, err
}

func (r *recoding) run(ctx context.Context) error {
	if a, b := wire.Slot(r.names.TimeoutSet), wire.Slot(r.names.Pending); r.options.Cluster && a != b {
		return errSlots(r.names, a, b)
	}
	if err := r.ask(ctx); err != nil {
		return err
	}
	r.others(ctx)
	var err error
	if r.reader, err = forensics.NewReader(ctx, r.client, r.names.Destination); err != nil {
		return err
	}
	if r.result.Before, _, err = r.survey(ctx); err != nil {
		return err
	}
	if r.options.DryRun {
		return nil
	}
	for r.result.Done.Passes < maxPasses {
		changed, err := r.pass(ctx)
		if err != nil || !changed {
			return err
		}
	}
	after, _, err := r.survey(ctx)
	r.result.After = &after
	return err
}

func errSlots(names wire.Names, a, b int) error {
	return fmt.Errorf("%s and %s are in the slots %d and %d: a cluster runs no script on both, and so nothing can be rewritten at once",
		names.TimeoutSet, names.Pending, a, b)
}

// ask looks for subscribers, and fails where that forbids to go on.
func (r *recoding) ask(ctx context.Context) error {
	found, err := subscribers(ctx, r.client, r.names.Channel)
	if err != nil {
		return err
	}
	r.result.Subscribers = found
	if (found.Count == 0 && found.Unknown == "") || r.options.Force {
		return nil
	}
	refusal := &CodecSubscribedError{SubscribedError{r.names.Channel, found}, r.options.From, r.options.To}
	if r.options.DryRun {
		r.result.Refusal = refusal.Error()
		return nil
	}
	return refusal
}

// others counts the values that are left alone, or says why they cannot be counted.
func (r *recoding) others(ctx context.Context) {
	var err error
	if r.result.Held.Count, err = r.client.Do(ctx, "ZCARD", r.result.Held.Key).Int64(); err != nil {
		r.result.Held.Unknown = err.Error()
	}
	leases := scripts.LeaseNamesOf(r.names.Destination)
	count := func(n int64, err error) int64 {
		if err != nil {
			r.result.ReliableUnknown = err.Error()
		}
		return n
	}
	r.result.Dead = count(r.client.Do(ctx, "ZCARD", leases.Dead).Int64())
	r.result.Reserved = count(r.client.Do(ctx, "ZCARD", leases.Leases).Int64())
	r.result.Reserved += count(r.client.Do(ctx, "LLEN", leases.Staged).Int64())
}

// pass walks all once, and reports whether there was anything to do.
func (r *recoding) pass(ctx context.Context) (changed bool, err error) {
	done := &r.result.Done
	done.Passes++
	before := *done
	for _, l := range []list{r.deliveredList(), r.pendingList()} {
		if err := r.walk(ctx, l); err != nil {
			return false, err
		}
	}
	after, timed, err := r.survey(ctx)
	if err != nil {
		return false, err
	}
	r.result.After = &after
	if !after.Unsure && timed.CountUnseen() > 0 {
		if err := r.unlisted(ctx, timed); err != nil {
			return false, err
		}
	}
	return *done != before, nil
}

// list is one of the two lists that are walked.
type list struct {
	key  string
	keys []string // of the script
	// field is what the journal has before what is in the list.
	field   string
	open    func(entry string) (value []byte, pack func([]byte) string)
	counted func(replaced, moved int)
}

func (r *recoding) deliveredList() list {
	return list{
		key: r.names.Destination, keys: []string{r.names.Destination, r.result.Journal}, field: "D",
		open: func(entry string) ([]byte, func([]byte) string) {
			return []byte(entry), func(v []byte) string { return string(v) }
		},
		counted: func(replaced, _ int) { r.result.Done.Waiting += replaced },
	}
}

func (r *recoding) pendingList() list {
	u := scripts.UnlistingOf(r.names.Destination)
	return list{
		key: r.names.Pending, keys: []string{r.names.Pending, r.result.Journal, r.names.TimeoutSet, u.Pass}, field: "T",
		open: openMember,
		counted: func(replaced, moved int) {
			r.result.Done.Entries += replaced
			r.result.Done.Members += moved
		},
	}
}

// openMember returns the value of a member, nil for one that cannot be read, and what packs another
// value as the member is.
func openMember(member string) (value []byte, pack func([]byte) string) {
	content := forensics.Unpack([]byte(member), wire.LayoutBc0Lc0)
	if content.Form == forensics.Unreadable {
		return nil, nil
	}
	return content.Value, func(v []byte) string {
		m := content.Member
		m.Value = v
		return string(m.Bytes())
	}
}

// walk rewrites the entries of a list, from its tail to its head.
func (r *recoding) walk(ctx context.Context, l list) error {
	length, err := r.client.Do(ctx, "LLEN", l.key).Int64()
	if err != nil {
		return fmt.Errorf("LLEN %s: %w", l.key, err)
	}
	for end := int(length); end > 0; {
		first := max(0, end-r.batch.size)
		entries, err := r.client.Do(ctx, "LRANGE", l.key, int64(first), int64(end-1)).StringSlice()
		if err != nil {
			return fmt.Errorf("LRANGE %s: %w", l.key, err)
		}
		entries, first = lastBytes(entries, first)
		if err := r.replace(ctx, l.keys, "list", first, entries, l); err != nil {
			return fmt.Errorf("rewriting entries %d to %d of %s: %w", first, end-1, l.key, err)
		}
		end = first
		if r.options.Progress != nil {
			r.options.Progress(r.result.Done.Passes, int(length)-end, int(length))
		}
	}
	return nil
}

// lastBytes returns the last entries, as many as a batch may have bytes, one at least, and the index of
// the first.
func lastBytes(entries []string, first int) ([]string, int) {
	bytes := 0
	for i := len(entries) - 1; i > 0; i-- {
		if bytes += len(entries[i]); bytes+len(entries[i-1]) > batchBytes {
			return entries[i:], first + i
		}
	}
	return entries, first
}

// replace rewrites what is to be rewritten among the entries, which are at first and behind it.
func (r *recoding) replace(ctx context.Context, keys []string, mode string, first int, entries []string, l list) error {
	fates, err := r.judge(ctx, entries, l)
	if err != nil {
		return err
	}
	began := time.Now()
	// What comes between two that are rewritten stays as it is; the script is told of runs without such.
	for i := 0; i < len(entries); {
		if fates[i].fresh == nil {
			i++
			continue
		}
		at, args := i, []any{mode, 0, r.options.To, int(journalLife.Seconds())}
		for ; i < len(entries) && fates[i].fresh != nil; i++ {
			args = append(args, entries[i], *fates[i].fresh, fates[i].flag)
		}
		args[1] = first + at
		reply, err := rewriteValues.Run(ctx, r.client, keys, args...).Result()
		if err != nil {
			return err
		}
		var replaced, moved, missing, clashes int
		if err := integers(reply, &replaced, &moved, &missing, &clashes); err != nil {
			return err
		}
		l.counted(replaced, moved)
		took := time.Since(began)
		r.batch.ended(took, r.reader.Busy(took), replaced > 0)
		began = time.Now()
	}
	return nil
}

// fate is what becomes of an entry.
type fate struct {
	fresh *string // nil for one that stays
	flag  string  // of the script
	// refused is why the value is not rewritten; its Reason is empty where the value is, or needs not be.
	refused Outcome
}

// judge returns what becomes of each of the entries.
func (r *recoding) judge(ctx context.Context, entries []string, l list) ([]fate, error) {
	fates := make([]fate, len(entries))
	fields := []any{"HMGET", r.result.Journal}
	var old, either []int // indexes of entries in the old codec, and of those that are in either
	for i, entry := range entries {
		value, _ := l.open(entry)
		if value == nil && l.field == "T" {
			continue
		}
		switch looks(r.options.From, r.options.To, value) {
		case looksFrom:
			old = append(old, i)
		case looksBoth:
			fields, either = append(fields, l.field+entry), append(either, i)
		case looksOther:
			kind := values.Detect(value)
			fates[i].refused.Reason = fmt.Sprintf("these are no bytes of %s: they seem to be of %s", r.options.From, strings.Replace(kind.Codec, values.Unknown, "no codec known here", 1))
		}
	}
	if len(either) > 0 {
		known, err := r.client.Do(ctx, fields...).Slice()
		if err != nil {
			return nil, fmt.Errorf("HMGET %s: %w", r.result.Journal, err)
		}
		for n, i := range either {
			of, isKnown := known[n].(string)
			switch {
			case isKnown && of == r.options.To:
			case r.options.Force && !isKnown:
				fates[i].refused.Reason = fmt.Sprintf("both %s and %s read it, and a service that runs may have offered it in either", r.options.From, r.options.To)
			default:
				old = append(old, i)
			}
		}
	}
	return fates, r.recode(ctx, entries, old, l, fates)
}

// recode finds what becomes of the entries with the indexes, which are of the old codec.
func (r *recoding) recode(ctx context.Context, entries []string, indexes []int, l list, fates []fate) error {
	if len(indexes) == 0 {
		return nil
	}
	old := make([][]byte, len(indexes))
	for n, i := range indexes {
		old[n], _ = l.open(entries[i])
	}
	outcomes, err := r.options.Recode(ctx, old)
	if err != nil {
		return fmt.Errorf("writing values of %s as %s does: %w", r.options.From, r.options.To, err)
	}
	for n, i := range indexes {
		fresh := outcomes[n]
		seems := looks(r.options.From, r.options.To, fresh.Value)
		if fresh.Reason == "" && seems != looksTo && seems != looksBoth {
			fresh.Reason = fmt.Sprintf("what %s writes of it looks like %s, so that nobody could tell later what it is", r.options.To, values.Detect(fresh.Value).Codec)
		}
		if fresh.Reason != "" {
			fates[i].refused = fresh
			continue
		}
		_, pack := l.open(entries[i])
		packed := pack(fresh.Value)
		if seems == looksBoth {
			fates[i].flag = "both"
		}
		if packed != entries[i] && (l.field != "D" || !r.delivered[packed]) { // not before that one is rewritten, which it would be taken for
			fates[i].fresh = &packed
		}
	}
	return nil
}

// unlisted rewrites the members of the timeout set that the Index has not seen in the list.
func (r *recoding) unlisted(ctx context.Context, timed *forensics.Index) error {
	u := scripts.UnlistingOf(r.names.Destination)
	keys := []string{r.names.TimeoutSet, r.result.Journal, r.names.TimeoutSet, u.Pass, u.Unlisted[0], u.Unlisted[1]}
	l := r.pendingList()
	l.counted = func(_, moved int) { r.result.Done.Members += moved }
	return r.reader.TimeoutSet(ctx, func(chunk []redis.Z) error {
		var members []string
		for _, z := range chunk {
			if member := z.Member; timed.Unseen(member) {
				members = append(members, member)
			}
		}
		for len(members) > 0 {
			n := min(len(members), r.batch.size)
			bytes := 0
			for i, member := range members[:n] {
				if bytes += len(member); bytes > batchBytes && i > 0 {
					n = i
					break
				}
			}
			if err := r.replace(ctx, keys, "members", 0, members[:n], l); err != nil {
				return fmt.Errorf("rewriting members of %s: %w", r.names.TimeoutSet, err)
			}
			members = members[n:]
		}
		return nil
	})
}
