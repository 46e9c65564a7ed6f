package redis

import (
	"errors"
	"fmt"
	"regexp"
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
	spec, err := parse(s)
	if err != nil {
		return Spec{}, &SpecError{Spec: Redact(s), Reason: err.Error()}
	}
	return spec, nil
}

// parse reads a --redis value. Its errors have no part of an address, which may be of a password.
func parse(s string) (Spec, error) {
	word, arg, hasArg := strings.Cut(s, ":")
	switch k := Kind(word); {
	case strings.Contains(s, "://"):
		a, err := parseAddress(s)
		return Spec{Kind: External, Address: a}, err
	case (k == Container || k == Process) && hasArg && arg == "":
		return Spec{}, errors.New("nothing follows the colon")
	case k == Container || k == Process || (k == Auto || k == Embedded) && !hasArg:
		return Spec{Kind: k, Arg: arg}, nil
	case k == Auto || k == Embedded:
		return Spec{}, errors.New(word + " takes no argument")
	case k == "":
		return Spec{}, errors.New("empty")
	}
	return Spec{}, errors.New("unknown word" + text.DidYouMean(word, []string{"auto", "container", "process", "embedded"}))
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

// Redact is a --redis value without passwords, for people. An address that cannot be read is shown by its scheme alone.
func Redact(s string) string {
	spec, err := parse(s)
	scheme, rest, isAddress := strings.Cut(s, "://")
	switch {
	case err == nil && spec.Kind != External, err != nil && !strings.ContainsAny(s, "/@"):
		return s // an image may have an @ too
	case err != nil && isAddress && !strings.ContainsAny(scheme, ":/?#@"):
		return scheme + "://***"
	case err != nil:
		return "***"
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, _, named := strings.Cut(rest[:i], ":")
		if rest = "***" + rest[i:]; named {
			rest = user + ":" + rest
		}
	}
	return scheme + "://" + sentinelPassword.ReplaceAllString(rest, "$1***")
}

var sentinelPassword = regexp.MustCompile(`(sentinel_password=)[^&]*`)

// Place is where a --redis value has its server, for people: host:port of one that runs elsewhere, the first of several, and
// else the value itself. It has no password.
func Place(s string) string {
	if spec, err := Parse(s); err == nil && spec.Kind == External {
		return spec.Address.Hosts[0]
	}
	return Redact(s)
}
