package ops

import "time"

// Age has the values that a Doctor remembers stand still for longer.
func Age(d *Doctor, by time.Duration) {
	for name, s := range d.still {
		s.since = s.since.Add(-by)
		d.still[name] = s
	}
}
