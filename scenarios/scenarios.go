// Package scenarios holds the work that the harness can be given, as data: the
// files are part of the binary.
package scenarios

import "embed"

// Conformance holds the conformance cases, under "conformance", and those of two
// implementations at one queue, under "beside".
//
//go:embed conformance/*.yaml beside/*.yaml
var Conformance embed.FS
