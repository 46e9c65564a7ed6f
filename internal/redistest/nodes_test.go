package redistest

import "testing"

func FuzzClusterNodes(f *testing.F) {
	f.Add("07c3 127.0.0.1:30001@31001 myself,master - 0 0 4 connected 0-5 7 [9->-e7d1]")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseNodes(text) })
}
