package forensics

import (
	"context"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Unlisted reports for each of the members whether a dq client has taken it out of the
// pending list because it is due soon: see scripts.Unlist.
func (r *Reader) Unlisted(ctx context.Context, members []string) ([]bool, error) {
	keys := scripts.UnlistingOf(r.Names.Destination).Unlisted
	unlisted := make([]bool, len(members))
	for first := 0; first < len(members); first += minChunk {
		part := members[first:min(first+minChunk, len(members))]
		var calls [][]any
		for _, member := range part {
			for _, key := range keys {
				calls = append(calls, []any{"SISMEMBER", key, member})
			}
		}
		began := time.Now()
		replies, _ := r.client.Pipe(ctx, calls...) // each reply has its own error
		r.meter.count(time.Since(began), 0)
		for i, reply := range replies {
			is, err := reply.Bool()
			if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") { // a key of another type has no members
				return nil, fmt.Errorf("SISMEMBER %s: %w", keys[i%len(keys)], err)
			}
			unlisted[first+i/len(keys)] = unlisted[first+i/len(keys)] || is
		}
	}
	return unlisted, nil
}

// sortOut judges members of the set that no walk through the list has met. One that is
// neither unlisted nor, asked later, gone is an orphan: a transfer takes it from both at once.
func sortOut(ctx context.Context, r *Reader, d *Difference, unmet []string) error {
	if len(unmet) == 0 {
		return nil
	}
	unlisted, err := r.Unlisted(ctx, unmet)
	if err != nil {
		return err
	}
	var suspects []string
	for i, member := range unmet {
		if unlisted[i] {
			d.Unlisted++
		} else {
			suspects = append(suspects, member)
		}
	}
	scores, err := r.Scores(ctx, suspects)
	if err != nil {
		return err
	}
	for i, member := range suspects {
		if scores[i] != nil {
			d.Orphans.add(member)
		}
	}
	return nil
}
