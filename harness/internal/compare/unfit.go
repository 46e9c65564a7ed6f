package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// UnfitError says that some of the runs can be judged by nothing.
type UnfitError struct {
	// Reasons name the run and what is wrong with it: "run 1f of dq:4.7.0 of 2026-…: it was interrupted".
	Reasons []string
}

func (e *UnfitError) Error() string {
	return "not every run can be judged (" + strings.Join(e.Reasons, "; ") + ")"
}

// IsRefused reports whether an error says that runs are not to be judged, as they differ or
// cannot be: their figures may yet be shown.
func IsRefused(err error) bool {
	var different *run.DifferenceError
	var unfit *UnfitError
	return errors.As(err, &different) || errors.As(err, &unfit)
}

// refused says why runs are not to be judged: a *run.DifferenceError, an *UnfitError, or both.
func refused(differences, reasons []string) error {
	var different, unfit error
	if len(differences) > 0 {
		different = &run.DifferenceError{Differences: differences}
	}
	if len(reasons) > 0 {
		unfit = &UnfitError{Reasons: reasons}
	}
	switch {
	case different == nil:
		return unfit
	case unfit == nil:
		return different
	}
	return fmt.Errorf("%w; besides, %w", unfit, different)
}

// allUnfit says of each run that can be judged by nothing why not.
func allUnfit(old, new []*run.Document) []string {
	var reasons []string
	for _, r := range slices.Concat(old, new) {
		if reason := Unfit(r); reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// Unfit says why a run can be judged by nothing, and which one it is; it is empty if the
// run can.
func Unfit(r *run.Document) string {
	name := fmt.Sprintf("run %s of %s of %s", r.RunID, r.Driver, r.Started.Format(time.RFC3339))
	var reasons []string
	if r.Interrupted {
		reasons = append(reasons, "it was interrupted")
	}
	if !r.Valid() {
		reasons = append(reasons, "it is invalid: "+strings.Join(r.Validity.Reasons, "; "))
	}
	if len(reasons) == 0 {
		return ""
	}
	return name + ": " + strings.Join(reasons, "; ")
}
