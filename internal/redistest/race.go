//go:build race

package redistest

// Racing says that the race detector is at work: goroutines that wake at the same instant run in a random order, and what
// computes for seconds does so for minutes.
const Racing = true
