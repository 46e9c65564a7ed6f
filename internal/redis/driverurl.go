package redis

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
	b.WriteString("redis")
	if t.tls {
		b.WriteByte('s')
	}
	if t.topology == sentinel {
		b.WriteString("+sentinel://")
	} else {
		b.WriteString("+cluster://")
	}
	if t.username != "" || t.password != "" {
		b.WriteString(url.UserPassword(t.username, t.password).String() + "@")
	}
	b.WriteString(strings.Join(t.addrs, ","))
	q := url.Values{}
	t.files.Put(q)
	if t.topology == sentinel {
		b.WriteString("/" + url.PathEscape(t.master) + "/" + strconv.Itoa(t.db))
		if t.sentinelPassword != "" {
			q.Set("sentinel_password", t.sentinelPassword)
		}
	}
	if len(q) > 0 {
		b.WriteString("?" + q.Encode())
	}
	return b.String()
}

// External reports whether a --redis value is the address of a server that runs
// already.
func External(spec string) bool {
	s, err := parseSpec(spec)
	return err == nil && s.mode == modeExternal
}

// DriverURLBy is DriverURL with the server reached by another address, that of a proxy. It
// is for one server by TCP without TLS: see Plain.
func (s *Server) DriverURLBy(addr string) string {
	t := s.target
	t.addrs = []string{addr}
	return t.spec()
}

// Form is the kind of a --redis value.
type Form string

// The forms.
const (
	FormAuto      = Form(modeAuto)
	FormContainer = Form(modeContainer)
	FormProcess   = Form(modeProcess)
	FormEmbedded  = Form(modeEmbedded)
	FormExternal  = Form(modeExternal)
)

// FormOf returns the form of a --redis value that CheckSpec found right, and the image or path
// in it.
func FormOf(spec string) (form Form, arg string) {
	s, err := parseSpec(spec)
	if err != nil {
		return "", ""
	}
	return Form(s.mode), s.arg
}

// Plain reports whether a --redis value is the address of one server by TCP without TLS.
func Plain(spec string) bool {
	s, err := parseSpec(spec)
	return err == nil && s.mode == modeExternal && s.url.topology == single && !s.url.tls && !s.url.unix
}
