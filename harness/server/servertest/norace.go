//go:build !race

package servertest

// Racing says that the race detector is at work.
const Racing = false
