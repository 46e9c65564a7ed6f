package inspect

import (
	"context"
	"fmt"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Look inspects the queues of a server: those named, or all that it has if none is;
// of these, one that the user may not look at is Uncertain, unless none is left.
func Look(ctx context.Context, client redis.Conn, server Server, queues []string, options Options) (*Inspection, error) {
	i := &Inspection{Schema: Schema, Server: server, Scripts: []Script{}, Queues: []Queue{}}
	if options.Release != nil {
		i.Release = options.Release.String()
	}
	now, err := redis.Time(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("TIME: %w", err)
	}
	i.At = now.UTC()
	seen, err := forensics.ScriptsSeen(ctx, client)
	if err != nil {
		i.Uncertain = append(i.Uncertain, fmt.Sprintf("scripts that were run: not looked at: %v", err))
	}
	for _, s := range seen {
		i.Scripts = append(i.Scripts, Script{s.Variant, s.SHA1, sentBy(s)})
	}
	all := len(queues) == 0
	if all {
		if queues, err = forensics.Queues(ctx, client); err != nil {
			return nil, err
		}
	}
	var forbidden []error
	for _, name := range queues {
		q, err := LookAt(ctx, client, name, options)
		if all && redis.HasErrorPrefix(err, "NOPERM") {
			forbidden = append(forbidden, err)
			i.Uncertain = append(i.Uncertain, fmt.Sprintf("queue %q: not looked at: %v", name, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		i.Anomalies += q.anomalies()
		i.Queues = append(i.Queues, q)
	}
	if len(i.Queues) == 0 && len(forbidden) > 0 {
		return nil, forbidden[0]
	}
	return i, nil
}

// sentBy names the releases that send a script, of each line of numbers.
func sentBy(s wire.Script) string {
	text := ""
	for _, twos := range []bool{true, false} {
		var first, last wire.Release
		for _, r := range wire.Releases() {
			if (r.Major == 2) == twos && s.SentBy(r) {
				if first == (wire.Release{}) {
					first = r
				}
				last = r
			}
		}
		if first == (wire.Release{}) {
			continue
		}
		if text != "" {
			text += " and "
		}
		text += fmt.Sprintf("%s to %s", first, last)
	}
	return text
}
