package driver

import (
	"context"
	"encoding/json"
	"slices"
)

// Program is an implementation under the op protocol of PROTOCOL.md: one op for
// each call of the queue API. An External program speaks it on stdin and stdout;
// a DQProgram answers in this process.
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
func (p *External) Introduction() Hello { return p.Hello }

// Can reports whether an implementation has an op, or an overload "op(argument)".
func (h Hello) Can(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// HasCodec reports whether an implementation knows a codec by name.
func (h Hello) HasCodec(name string) bool { return slices.Contains(h.Codecs, name) }
