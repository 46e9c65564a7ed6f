//go:build !unix

package agent

// cpuSeconds is not known here.
func cpuSeconds() float64 { return 0 }
