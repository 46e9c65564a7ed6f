//go:build !race

package redistest

// Racing says that the race detector is at work.
const Racing = false
