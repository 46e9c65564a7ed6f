// Package program answers: how is an implementation outside this process driven?
//
// By the op protocol of PROTOCOL.md, one op for each call of the queue API. A Spec
// is a --driver value that names a program; a Process is one that runs: Redisson of
// any release (folder redisson), or whatever exec: starts. Both are drivers. A
// Library is dq in this process, which answers the same ops.
package program

import (
	"context"
	"encoding/json"
	"slices"
)

// Program is an implementation that answers the ops: a Process on stdin and
// stdout, a Library in this process.
type Program interface {
	// Introduction is the answer to hello.
	Introduction() Hello
	// Call runs one op and returns its result. An error that the implementation
	// answered with is, or wraps, a *RemoteError; every other error says that the
	// program itself failed or that ctx ended.
	Call(ctx context.Context, op string, params any) (json.RawMessage, error)
	// Close ends the program and everything it opened.
	Close() error
}

// Introduction returns what the program said to hello.
func (p *Process) Introduction() Hello { return p.Hello }

// Can reports whether an implementation has an op, or an overload "op(argument)".
func (h Hello) Can(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// HasCodec reports whether an implementation knows a codec by name.
func (h Hello) HasCodec(name string) bool { return slices.Contains(h.Codecs, name) }
