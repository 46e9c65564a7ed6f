package simulate_test

import "slices"

// Shrink takes events out of a plan for as long as fails still does: halves, quarters and so
// on down to single ones. It calls fails up to limit times.
func Shrink(plan Plan, limit int, fails func(Plan) bool) Plan {
	for size := len(plan.Events) / 2; size > 0; {
		smaller := false
		for from := 0; from < len(plan.Events) && limit > 0; {
			less := plan
			less.Events = slices.Delete(slices.Clone(plan.Events), from, min(from+size, len(plan.Events)))
			if limit--; fails(less) {
				plan, smaller = less, true
				continue
			}
			from += size
		}
		switch {
		case limit == 0:
			return plan
		case !smaller || size > 1:
			size /= 2
		}
	}
	return plan
}
