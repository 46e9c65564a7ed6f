// Package monitor answers: what did Redis see? It holds a connection in MONITOR mode, the exact codec of the lines, and
// recording files. It uses its own socket: client libraries lose lines, or all of them under RESP3.
package monitor
