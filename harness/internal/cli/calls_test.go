package cli

import (
	"bufio"
	"encoding/json"
	"os"
)

// callsOnly is a driver program (docs/protocol.md) that makes single calls and lacks the capability load.
func callsOnly() {
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var r struct {
			ID uint64 `json:"id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		ops := []string{"hello", "open", "close", "cancel", "dq.offer", "q.take"}
		hello := map[string]any{"name": "calls-only", "version": "1", "protocol": 3, "capabilities": ops, "codecs": []string{"bytes"}}
		_ = out.Encode(map[string]any{"id": r.ID, "ok": true, "result": hello}) // a caller that is gone has closed stdin too
	}
}
