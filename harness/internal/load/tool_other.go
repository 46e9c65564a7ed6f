//go:build !unix

package load

// cpuSeconds is not known here.
func cpuSeconds() float64 { return 0 }
