//go:build race

package simulate_test

// racing says that the race detector is at work, which puts goroutines that wake at the same instant in a random order.
const racing = true
