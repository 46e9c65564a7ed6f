package redis

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
)

// SpecError reports a --redis value that can never be right, whatever the
// machine: an unknown word or a broken URL. Commands exit 2 on it.
type SpecError struct {
	// Spec is the value as given, its password hidden.
	Spec string
	// Reason says what is wrong with it.
	Reason string
}

// Error names the value, what is wrong with it and what is allowed.
func (e *SpecError) Error() string {
	return fmt.Sprintf("redis %q: %s; want auto, container[:image], process[:path], embedded or a redis://, redis+cluster://, redis+sentinel:// URL, rediss… for TLS, unix:// for a socket", e.Spec, e.Reason)
}

// Kind is how a --redis value has its server.
type Kind string

// The kinds.
const (
	Auto      Kind = "auto"
	Container Kind = "container"
	Process   Kind = "process"
	Embedded  Kind = "embedded"
	External  Kind = "external"
)

// words are the kinds that a --redis value names.
var words = []string{string(Auto), string(Container), string(Process), string(Embedded)}

// Spec is a --redis value.
type Spec struct {
	Kind    Kind
	Arg     string  // image or path; empty means the default
	Address Address // of an External one
}

// Parse reads a --redis value. It touches no network and no file; the error is always a *SpecError.
func Parse(s string) (Spec, error) {
	if strings.Contains(s, "://") {
		a, err := parseAddress(s)
		if err != nil {
			return Spec{}, broken(s, err.Error())
		}
		return Spec{Kind: External, Address: a}, nil
	}
	word, arg, hasArg := strings.Cut(s, ":")
	switch k := Kind(word); k {
	case Container, Process:
		if hasArg && arg == "" {
			return Spec{}, broken(s, "nothing follows the colon")
		}
		return Spec{Kind: k, Arg: arg}, nil
	case Auto, Embedded:
		if hasArg {
			return Spec{}, broken(s, word+" takes no argument")
		}
		return Spec{Kind: k}, nil
	case "":
		return Spec{}, broken(s, "empty")
	default:
		return Spec{}, broken(s, "unknown word"+text.DidYouMean(word, words))
	}
}

// broken refuses a value without showing a password in it.
func broken(s, reason string) *SpecError {
	if strings.Contains(s, "://") && misplaced(s) {
		reason = unencoded
	}
	return &SpecError{Spec: hide(s), Reason: reason}
}

// IsExternal reports whether a --redis value is the address of a server that runs already.
func IsExternal(s string) bool {
	spec, err := Parse(s)
	return err == nil && spec.Kind == External
}

// Redact hides what may be a password in a --redis value, also in one that cannot be parsed.
func Redact(s string) string {
	if spec, err := Parse(s); err == nil && spec.Kind != External {
		return s // an image may have an @ too
	}
	return hide(s)
}

// Place is where a --redis value has its server, for people: host:port of one that runs elsewhere, the first of several, and
// else the value itself. It has no password.
func Place(s string) string {
	if spec, err := Parse(s); err == nil && spec.Kind == External && !misplaced(s) {
		return spec.Address.Hosts[0]
	}
	return Redact(s)
}
