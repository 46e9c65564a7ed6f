package redis

import "strings"

// unencoded is why an address cannot be read where misplaced reports true.
const unencoded = "an @ stands behind a /, ? or #: in a user and a password these are %2F, %3F and %23"

// hidden is what a password is shown as.
const hidden = "***"

// hide hides what may be a password in an address, however malformed: all that stands before the last @,
// but for the user where a colon ends its name, a port that is no number, and the parameters but those that name files.
func hide(address string) string {
	scheme, rest := cut(address)
	access, hosts := "", rest
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, _, named := strings.Cut(rest[:i], ":")
		access, hosts = hidden+"@", rest[i+1:]
		if named {
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
		path += "?" + redactQuery(query)
	}
	return scheme + access + hosts + path
}

// redactQuery keeps the files that a query begins with: a & that is not encoded may be of a password before it.
func redactQuery(query string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, valued := strings.Cut(pair, "=")
		switch {
		case name == caParameter || name == certParameter || name == keyParameter:
			kept = append(kept, pair)
			continue
		case valued:
			kept = append(kept, name+"="+hidden)
		default:
			kept = append(kept, hidden)
		}
		break
	}
	return strings.Join(kept, "&")
}

// misplaced reports whether an @ stands behind the hosts of an address. One that cannot be read then has a user or a
// password that is not encoded, of which any part may be taken for a host, a path or a parameter.
func misplaced(address string) bool {
	_, rest := cut(address)
	return strings.LastIndexByte(rest, '@') > strings.IndexAny(rest+"/", "/?#")
}

// cut returns what an address begins with, "" unless that is a scheme, and the rest.
func cut(address string) (scheme, rest string) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || strings.ContainsAny(scheme, ":/?#@") {
		return "", address
	}
	return scheme + "://", rest
}
