package redis

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
)

// SpecError reports a --redis value that is wrong on every machine. Commands exit 2 on it.
type SpecError struct {
	Spec   string // the value without its password
	Reason string
}

// Error names the value, the reason and the allowed values.
func (e *SpecError) Error() string {
	return fmt.Sprintf("redis %q: %s; want auto, container[:image], process[:path], embedded or a redis://, redis+cluster://, redis+sentinel:// URL, rediss… for TLS, unix:// for a socket", e.Spec, e.Reason)
}

// Kind is the word of a --redis value, or External for an address.
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
	Arg     string  // image or path; empty for the default
	Address Address // of an External one
}

// Parse reads a --redis value, without network or files. It fails with a *SpecError.
func Parse(s string) (Spec, error) {
	spec, err := parse(s)
	if err != nil {
		return Spec{}, &SpecError{Spec: Redact(s), Reason: err.Error()}
	}
	return spec, nil
}

func parse(s string) (Spec, error) {
	word, arg, hasArg := strings.Cut(s, ":")
	switch k := Kind(word); {
	case strings.Contains(s, "://"):
		a, err := parseAddress(s)
		return Spec{Kind: External, Address: a}, err
	case (k == Container || k == Process) && (!hasArg || arg != ""), (k == Auto || k == Embedded) && !hasArg:
		return Spec{Kind: k, Arg: arg}, nil
	case k == Container || k == Process:
		return Spec{}, errors.New("nothing follows the colon")
	case k == Auto || k == Embedded:
		return Spec{}, errors.New(word + " takes no argument")
	}
	meant := text.DidYouMean(word, []string{"auto", "container", "process", "embedded"})
	if _, err := hostPort(s, ""); err == nil && meant == "" {
		meant = " (did you mean redis://" + s + "?)"
	}
	return Spec{}, errors.New("unknown word" + meant)
}

// ParseAddress reads the address of a server. It fails with a *SpecError.
func ParseAddress(s string) (Address, error) {
	spec, err := Parse(s)
	if err == nil && spec.Kind != External {
		err = &SpecError{Spec: Redact(s), Reason: "not the address of a server"}
	}
	return spec.Address, err
}

// IsExternal reports whether a --redis value is the address of a server.
func IsExternal(s string) bool {
	_, err := ParseAddress(s)
	return err == nil
}

// Redact returns a --redis value without passwords, for people. Of a wrong address it returns only the scheme.
func Redact(s string) string {
	spec, err := parse(s)
	scheme, rest, isAddress := strings.Cut(s, "://")
	switch {
	case err == nil && spec.Kind != External, err != nil && !strings.ContainsAny(s, "/@"):
		return s // an image may have an @
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

// Place returns where the server of a --redis value is, for people and without a password: the first host:port of an address, else the
// value.
func Place(s string) string {
	if a, err := ParseAddress(s); err == nil {
		return a.Hosts[0]
	}
	return Redact(s)
}
