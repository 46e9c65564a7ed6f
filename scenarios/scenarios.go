// Package scenarios holds the work that the harness can be given, as data: the
// files are part of the binary.
package scenarios

import "embed"

// Conformance holds the conformance cases, under "conformance"; those of two implementations
// at one queue, under "beside"; and those that no recording judges, under "beyond".
//
//go:embed conformance/*.yaml beside/*.yaml beyond/*.yaml
var Conformance embed.FS

// Load holds the scenarios of 'dq-bench run': those of load under "load", and those in which
// something breaks under "fault".
//
//go:embed load/*.yaml fault/*.yaml
var Load embed.FS
