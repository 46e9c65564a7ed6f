package dq

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"
)

// walk reads a ZSET in its order, at most page members a call, and fewer large ones. A page begins with the last member of the
// page before, and otherwise before it, so that members that the caller removes meanwhile move no other past it.
func (c *Client) walk(ctx context.Context, queue, key string, page int) iter.Seq2[scoredMember, error] {
	return func(yield func(scoredMember, error) bool) {
		var last *scoredMember
		for first, back, most, size := 0, page, 8, 0; ; size = 0 {
			members, err := scored(c.do(ctx, queue, "ZRANGE", key, first, first+most-1, "WITHSCORES"))
			if err != nil {
				yield(scoredMember{}, err)
				return
			}
			if first > 0 && (len(members) == 0 || members[0].compare(*last) > 0) {
				first, back = max(0, first-back), 2*back
				continue
			}
			for _, m := range members {
				size += len(m.member)
				if last == nil || m.compare(*last) > 0 {
					if last = &m; !yield(m, nil) {
						return
					}
				}
			}
			if len(members) < most {
				return
			}
			first, back = first+most-1, most
			if most = min(2*most, page); size > 1<<20 {
				most = max(most/4, 2)
			}
		}
	}
}

type scoredMember struct {
	member string
	score  float64
}

// compare orders members as the server does.
func (m scoredMember) compare(other scoredMember) int {
	return cmp.Or(cmp.Compare(m.score, other.score), cmp.Compare(m.member, other.member))
}

// scored reads the reply of ZRANGE WITHSCORES, which RESP3 nests.
func scored(reply any, err error) ([]scoredMember, error) {
	items, err := replyList(reply, err)
	if err != nil {
		return nil, err
	}
	var flat []any
	for _, item := range items {
		if pair, nested := item.([]any); nested {
			flat = append(flat, pair...)
			continue
		}
		flat = append(flat, item)
	}
	all := make([]scoredMember, 0, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		member, ok := flat[i].(string)
		if !ok {
			return nil, fmt.Errorf("expected a member from the server, got %T", flat[i])
		}
		score, err := strconv.ParseFloat(fmt.Sprint(flat[i+1]), 64)
		if err != nil || math.IsNaN(score) {
			return nil, fmt.Errorf("expected a score from the server, got %.40q", fmt.Sprint(flat[i+1]))
		}
		all = append(all, scoredMember{member, score})
	}
	return all, nil
}
