package server

import (
	"net/url"
	"strconv"
	"strings"
)

// DriverURL is the server's address with its credentials in the form that Start,
// NewClient and driver programs read: of a cluster and of sentinels it names all
// nodes and what they are, which URL does not. It holds the password: do not
// print it.
func (s *Server) DriverURL() string { return s.target.spec() }

// spec renders t so that parseTarget reads it.
func (t target) spec() string {
	if t.topology == single {
		return t.url()
	}
	var b strings.Builder
	b.WriteString("redis+cluster://")
	if t.topology == sentinel {
		b.Reset()
		b.WriteString("redis+sentinel://")
	}
	if t.username != "" || t.password != "" {
		b.WriteString(url.UserPassword(t.username, t.password).String() + "@")
	}
	b.WriteString(strings.Join(t.addrs, ","))
	if t.topology == sentinel {
		b.WriteString("/" + url.PathEscape(t.master) + "/" + strconv.Itoa(t.db))
		if t.sentinelPassword != "" {
			b.WriteString("?" + url.Values{"sentinel_password": {t.sentinelPassword}}.Encode())
		}
	}
	return b.String()
}

// External reports whether a --redis value is the address of a server that runs
// already.
func External(spec string) bool {
	s, err := parseSpec(spec)
	return err == nil && s.mode == modeExternal
}
