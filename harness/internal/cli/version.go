package cli

import (
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/recordings"
)

// version returns the text of 'dq-bench --version': the module's version, the commit if this program was built
// in a checkout, and the Redisson releases that the program knows.
func version() string {
	built := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			built[s.Key] = s.Value
		}
	}
	commit := "unknown: not built in a checkout"
	if built["vcs.revision"] != "" {
		commit = built["vcs.revision"] + " of " + built["vcs.time"]
	}
	if built["vcs.modified"] == "true" {
		commit += ", with changes"
	}
	known := wire.Releases()
	recorded, _ := fs.ReadDir(recordings.Redisson(), ".") // which is part of the program
	return fmt.Sprintf("dq-bench  %s\ncommit    %s\ngo        %s %s/%s\nredisson  %s to %s: %d releases known, %d recorded\n",
		tool().Version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		known[0], wire.Newest(), len(known), len(recorded))
}
