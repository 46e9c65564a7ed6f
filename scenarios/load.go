package scenarios

import "embed"

// Load holds the load scenarios, under "load".
//
//go:embed load/*.yaml
var Load embed.FS
