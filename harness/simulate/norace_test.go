//go:build !race

package simulate_test

const racing = false
