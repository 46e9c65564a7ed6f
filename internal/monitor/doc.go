// Package monitor answers: what did Redis see?
//
// It holds a connection in MONITOR mode, the exact codec of the lines such a connection prints, and recording files,
// which are those lines with metadata in front. It uses its own socket: client libraries that keep replies and pushed
// data apart lose lines, or all of them under RESP3.
package monitor
