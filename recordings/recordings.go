// Package recordings holds the recorded MONITOR logs, as files and embedded, so that tests and the binary reach the
// same bytes.
//
// documents/ is transcribed byte for byte from the documents the project began with; the metadata of each file names
// its source and says where it deviates from what a server of today shows.
//
// counts.tsv has how many conformance cases dq and the real Redisson pass, skip and fail at each recorded release. A
// case that fails for a reason that the case gives counts as failed.
package recordings

import "embed"

// Files holds every recording under its path in this folder, such as documents/002-zlyx.monitor. The .json file beside
// them is the state that a document shows without the commands that led to it.
//
// redisson/ is packed; Redisson unpacks it.
//
//go:embed documents redisson
var Files embed.FS
