// Package trace answers: do two recordings mean the same?
//
// It reads MONITOR lines and does no I/O on Redis.
package trace
