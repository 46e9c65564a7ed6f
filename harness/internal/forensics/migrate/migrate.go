package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// maxPasses bounds how often the queue is walked: more are needed only while somebody
// offers in the other layout.
const maxPasses = 10

// GhostsKey returns the name of the LIST that keeps the ghosts that were removed, for the
// destination queue dest. It is in the slot of the other keys.
func GhostsKey(dest string) string { return wire.PrefixName("redisson_delay_queue_ghosts", dest) }

// move is a migration under way.
type move struct {
	client  redis.Conn
	reader  *forensics.Reader
	names   wire.Names
	options Options
	batch   batch
	result  *Migration
}

// Run migrates the queue with that destination. It fails with a *SubscribedError where it
// refuses. Where it ends early, the Migration says what was done until then, and a new
// Run goes on.
func Run(ctx context.Context, client redis.Conn, dest string, options Options) (*Migration, error) {
	began := time.Now()
	m := &move{
		client: client, names: wire.NamesOf(dest), options: options, batch: batch{size: firstBatch},
		result: &Migration{
			Schema: Schema, Queue: dest, To: options.To.String(), DryRun: options.DryRun, Repair: options.Repair,
			Held: Held{Key: forensics.HeldKey(dest)}, Quarantine: scripts.Quarantine(dest), Ghosts: GhostsKey(dest),
		},
	}
	err := m.run(ctx)
	done := &m.result.Done
	done.Batches, done.LongestMS = m.batch.calls, milliseconds(m.batch.longest)
	done.TookMS = milliseconds(time.Since(began))
	return m.result, err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (m *move) run(ctx context.Context) error {
	if slots := []int{wire.Slot(m.names.TimeoutSet), wire.Slot(m.names.Pending)}; m.options.Cluster && slots[0] != slots[1] {
		return errSlots(m.names, slots[0], slots[1])
	}
	if err := m.ask(ctx); err != nil {
		return err
	}
	var err error
	if m.result.Held.Count, err = m.client.Do(ctx, "ZCARD", m.result.Held.Key).Int64(); err != nil {
		m.result.Held.Unknown = err.Error()
	}
	if m.reader, err = forensics.NewReader(ctx, m.client, m.names.Destination); err != nil {
		return err
	}
	if m.result.Before, _, err = m.survey(ctx); err != nil || m.options.DryRun {
		return err
	}
	for m.result.Done.Passes < maxPasses {
		changed, err := m.pass(ctx)
		if err != nil || !changed {
			return err
		}
	}
	after, _, err := m.survey(ctx)
	m.result.After = &after
	return err
}

// ask looks for subscribers, and fails where that forbids to go on.
func (m *move) ask(ctx context.Context) error {
	found, err := subscribers(ctx, m.client, m.names.Channel)
	if err != nil {
		return err
	}
	m.result.Subscribers = found
	if (found.Count == 0 && found.Unknown == "") || m.options.Force {
		return nil
	}
	refusal := &SubscribedError{m.names.Channel, found}
	if m.options.DryRun {
		m.result.Refusal = refusal.Error()
		return nil
	}
	return refusal
}

// subscribers looks for who listens to a channel; it fails only where ctx ends.
func subscribers(ctx context.Context, client redis.Conn, channel string) (Subscribers, error) {
	count, clients, err := forensics.Subscribers(ctx, client, channel)
	found := Subscribers{Count: count, Clients: clients}
	if err != nil {
		found.Unknown = err.Error()
	}
	return found, ctx.Err()
}

// pass walks all once, and reports whether there was anything to do.
func (m *move) pass(ctx context.Context) (changed bool, err error) {
	done := &m.result.Done
	done.Passes++
	before := *done
	if err := m.listed(ctx); err != nil {
		return false, err
	}
	after, timed, err := m.survey(ctx)
	if err != nil {
		return false, err
	}
	m.result.After = &after
	if !after.Unsure && timed.CountUnseen() > 0 {
		if err := m.unlisted(ctx, timed); err != nil {
			return false, err
		}
	}
	return *done != before, nil
}

// listed rewrites the entries of the list, from its tail to its head.
func (m *move) listed(ctx context.Context) error {
	length, err := m.client.Do(ctx, "LLEN", m.names.Pending).Int64()
	if err != nil {
		return fmt.Errorf("LLEN %s: %w", m.names.Pending, err)
	}
	keys := []string{m.names.TimeoutSet, m.names.Pending, m.result.Quarantine, m.result.Ghosts, scripts.UnlistingOf(m.names.Destination).Pass}
	for end := int(length); end > 0; {
		first := max(0, end-m.batch.size)
		began := time.Now()
		reply, err := rewriteListed.Run(ctx, m.client, keys, m.result.To, first, end-1, m.repair(), batchBytes).Result()
		if err != nil {
			return fmt.Errorf("rewriting entries %d to %d of %s: %w", first, end-1, m.names.Pending, err)
		}
		var reached, clashes int
		var now Done
		if err := integers(reply, &reached, &now.Entries, &now.Members, &now.GhostsRemoved, &now.Quarantined, &clashes); err != nil {
			return err
		}
		now.Rewritten = now.Entries
		m.ended(began, now)
		end = reached
		m.progress(int(length)-end, int(length))
	}
	return nil
}

// unlisted rewrites the members of the timeout set that the Index has not seen in the
// list.
func (m *move) unlisted(ctx context.Context, timed *forensics.Index) error {
	return m.reader.TimeoutSet(ctx, func(chunk []redis.Z) error {
		var members []any
		for _, z := range chunk {
			member := z.Member
			if timed.Unseen(member) && (m.options.Repair || rewritable(member, m.options.To)) {
				members = append(members, member)
			}
		}
		for len(members) > 0 {
			n, err := m.unlistedBatch(ctx, members)
			if err != nil {
				return err
			}
			members = members[n:]
		}
		return nil
	})
}

// unlistedBatch rewrites the first of the members, and returns how many these were.
func (m *move) unlistedBatch(ctx context.Context, members []any) (int, error) {
	n := min(len(members), m.batch.size)
	if m.options.Repair {
		length, err := m.client.Do(ctx, "LLEN", m.names.Pending).Int64()
		if err != nil {
			return 0, fmt.Errorf("LLEN %s: %w", m.names.Pending, err)
		}
		n = min(n, max(1, searchEntries/max(1, int(length))))
	}
	bytes := 0
	for i, member := range members[:n] {
		if bytes += len(member.(string)); bytes > batchBytes && i > 0 {
			n = i
			break
		}
	}
	u := scripts.UnlistingOf(m.names.Destination)
	keys := []string{m.names.TimeoutSet, m.names.Pending, m.result.Quarantine, u.Pass, u.Unlisted[0], u.Unlisted[1]}
	began := time.Now()
	reply, err := rewriteUnlisted.Run(ctx, m.client, keys, append([]any{m.result.To, m.repair()}, members[:n]...)...).Result()
	if err != nil {
		return 0, fmt.Errorf("rewriting members of %s: %w", m.names.TimeoutSet, err)
	}
	var now Done
	var clashes int
	if err := integers(reply, &now.Rewritten, &now.Relisted, &now.Quarantined, &clashes); err != nil {
		return 0, err
	}
	now.Members = now.Rewritten
	m.ended(began, now)
	return n, nil
}

// ended takes note of a batch.
func (m *move) ended(began time.Time, now Done) {
	took := time.Since(began)
	m.batch.ended(took, m.reader.Busy(took), now != Done{})
	done := &m.result.Done
	done.Rewritten += now.Rewritten
	done.Members += now.Members
	done.Entries += now.Entries
	done.Relisted += now.Relisted
	done.GhostsRemoved += now.GhostsRemoved
	done.Quarantined += now.Quarantined
}

func (m *move) repair() string {
	if m.options.Repair {
		return "repair"
	}
	return ""
}

func (m *move) progress(done, total int) {
	if m.options.Progress != nil {
		m.options.Progress(m.result.Done.Passes, done, total)
	}
}
