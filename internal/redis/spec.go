package redis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
)

// SpecError reports a --redis value that can never be right, whatever the machine: an unknown word or a broken URL.
// Commands exit 2 on it.
type SpecError struct {
	Spec   string // the value as given, its password hidden
	Reason string // what is wrong with it
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

// Spec is a --redis value.
type Spec struct {
	Kind    Kind
	Arg     string  // image or path; empty means the default
	Address Address // of an External one
}

// Parse reads a --redis value. It touches no network and no file; the error is always a *SpecError.
func Parse(s string) (Spec, error) {
	word, arg, hasArg := strings.Cut(s, ":")
	reason := ""
	switch k := Kind(word); {
	case strings.Contains(s, "://"):
		a, err := parseAddress(s)
		if err == nil {
			return Spec{Kind: External, Address: a}, nil
		}
		if reason = err.Error(); misplaced(s) {
			reason = "an @ stands behind a /, ? or #: in a user and a password these are %2F, %3F and %23"
		}
	case (k == Container || k == Process) && hasArg && arg == "":
		reason = "nothing follows the colon"
	case k == Container || k == Process || (k == Auto || k == Embedded) && !hasArg:
		return Spec{Kind: k, Arg: arg}, nil
	case k == Auto || k == Embedded:
		reason = word + " takes no argument"
	case k == "":
		reason = "empty"
	default:
		reason = "unknown word" + text.DidYouMean(word, []string{"auto", "container", "process", "embedded"})
	}
	return Spec{}, &SpecError{Spec: hide(s), Reason: reason}
}

// ParseAddress reads the address of a server. The error is a *SpecError.
func ParseAddress(s string) (Address, error) {
	spec, err := Parse(s)
	if err == nil && spec.Kind != External {
		err = &SpecError{Spec: Redact(s), Reason: "not the address of a server"}
	}
	return spec.Address, err
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

// hidden is what a password is shown as.
const hidden = "***"

// hide hides what may be a password in an address, however malformed: all that stands before the last @, but for the user
// where a colon ends its name, a port that is no number, and the parameters but those that name files.
func hide(address string) string {
	scheme, rest := cutScheme(address)
	access, hosts := "", rest
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		access, hosts = hidden+"@", rest[i+1:]
		if user, _, named := strings.Cut(rest[:i], ":"); named {
			access = user + ":" + access
		}
	}
	tail := ""
	if i := strings.IndexAny(hosts, "/?#"); i >= 0 {
		hosts, tail = hosts[:i], hosts[i:]
	}
	if i := strings.LastIndexByte(hosts, ':'); i >= 0 && strings.Trim(hosts[i+1:], "0123456789]") != "" {
		hosts = hosts[:i+1] + hidden
	}
	path, query, asks := strings.Cut(tail, "?")
	if asks {
		path += "?" + hideQuery(query)
	}
	return scheme + access + hosts + path
}

// hideQuery keeps the files that a query begins with: a & that is not encoded may be of a password before it.
func hideQuery(query string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, valued := strings.Cut(pair, "=")
		if slices.Contains(fileParameters[:], name) {
			kept = append(kept, pair)
			continue
		}
		if valued {
			kept = append(kept, name+"="+hidden)
		} else {
			kept = append(kept, hidden)
		}
		break
	}
	return strings.Join(kept, "&")
}

// misplaced reports whether an @ stands behind the hosts of an address. One that cannot be read then has a user or a
// password that is not encoded, of which any part may be taken for a host, a path or a parameter.
func misplaced(address string) bool {
	_, rest := cutScheme(address)
	return strings.LastIndexByte(rest, '@') > strings.IndexAny(rest+"/", "/?#")
}

// cutScheme returns what an address begins with, "" unless that is a scheme, and the rest.
func cutScheme(address string) (scheme, rest string) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || strings.ContainsAny(scheme, ":/?#@") {
		return "", address
	}
	return scheme + "://", rest
}
