package scenarios

import "embed"

// Load holds the scenarios of 'dq-bench run': those of load under "load", and those in which
// something breaks under "fault".
//
//go:embed load/*.yaml fault/*.yaml
var Load embed.FS
