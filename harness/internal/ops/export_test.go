package ops

import "time"

// Age has the values that a Doctor remembers stand still for longer.
func Age(d *Doctor, by time.Duration) {
	for _, q := range d.still {
		q.since = q.since.Add(-by)
	}
}
