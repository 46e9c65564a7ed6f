package load

import (
	"cmp"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Door lets in agents on other hosts: an HTTP request with the token, which becomes a connection that carries the lines
// of the driver protocol.
//
//	POST /agent, Upgrade: dq-bench-agent, Authorization: Bearer TOKEN
//	102 at once
//	101, Dq-Driver: the --driver value that the agent is to serve, when a run begins
//
// Without a token the door is closed.
type Door struct {
	token string
	came  chan net.Conn // agents that no run has taken yet
}

const (
	upgrade      = "dq-bench-agent"
	driverHeader = "Dq-Driver"
	mostWaiting  = 1024                   // agents at the door
	mostHead     = 64 << 10               // bytes of the head of an answer
	headTimeout  = 10 * time.Second       // for the head of a request or an answer
	orphaned     = time.Minute            // an agent ends that has heard nothing of its run for so long
	knockEvery   = 500 * time.Millisecond // an agent tries to reach the run
)

// NewDoor returns a door that opens to clients with the token.
func NewDoor(token string) *Door { return &Door{token: token, came: make(chan net.Conn, mostWaiting)} }

// Close sends away the agents that no run has taken, and says why.
func (d *Door) Close() {
	for d != nil && len(d.came) > 0 {
		conn := <-d.came
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d\r\nConnection: close\r\n\r\nthe run had all its agents", http.StatusServiceUnavailable)
		_ = conn.Close()
	}
}

func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch given := r.Header.Get("Authorization"); {
	case d.token == "" || subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+d.token)) != 1:
		http.Error(w, "expected the token of --token-file", http.StatusForbidden)
		return
	case r.Method != http.MethodPost || r.Header.Get("Upgrade") != upgrade:
		http.Error(w, "expected POST with Upgrade: "+upgrade, http.StatusUpgradeRequired)
		return
	}
	w.WriteHeader(http.StatusProcessing)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = conn.SetDeadline(time.Time{}) // of the server's
	select {
	case d.came <- conn: // an agent sends nothing before it is asked
	default:
		_ = conn.Close()
	}
}

// Wait waits for n agents, has them serve a driver, and returns links to them.
func (d *Door) Wait(ctx context.Context, n int, driver string, notice func(string)) (links []*program.Link, err error) {
	left := make(chan *program.Link, n) // with room for each that counts
	for len(links) < n {
		select {
		case conn := <-d.came:
			link, err := admit(ctx, conn, driver)
			if err != nil {
				notice(fmt.Sprintf("an agent at %s was not let in: %v", conn.RemoteAddr(), err))
				continue
			}
			links = append(links, link)
			notice(fmt.Sprintf("agent %d of %d: %s at %s", len(links), n, link.Introduction(), conn.RemoteAddr()))
			go func() { <-link.Ended(); left <- link }()
		case gone := <-left:
			links = slices.DeleteFunc(links, func(l *program.Link) bool { return l == gone })
			notice(fmt.Sprintf("an agent left, %d of %d are there: %v", len(links), n, gone.Failure()))
		case <-time.After(10 * time.Second):
			notice(fmt.Sprintf("waiting for agent %d of %d", len(links)+1, n))
		case <-ctx.Done():
			for _, l := range links {
				_ = l.Close()
			}
			return nil, fmt.Errorf("%d of %d agents arrived: %w", len(links), n, ctx.Err())
		}
	}
	return links, nil
}

func admit(ctx context.Context, conn net.Conn, driver string) (*program.Link, error) {
	_ = conn.SetWriteDeadline(time.Now().Add(headTimeout)) // each line has one of its own
	_, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n\r\n", upgrade, driverHeader, driver)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	link, err := program.Connect(ctx, "agent at "+conn.RemoteAddr().String(), conn)
	if err == nil {
		go every(orphaned/6, link.Ended(), func() bool { // a sign of life, whatever the answer
			asking, cancel := context.WithTimeout(context.Background(), orphaned)
			defer cancel()
			_, _ = link.Call(asking, "hello", map[string]any{})
			return false
		})
	}
	return link, err
}

// heard is a connection that ends when nothing has arrived on it for a time: the run is gone, and its agent would take on.
type heard struct {
	io.ReadWriter
	alone *time.Timer
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.ReadWriter.Read(p)
	h.alone.Reset(orphaned)
	return n, err
}

// ErrNoDoor says that no load is run there, or not any more.
var ErrNoDoor = errors.New("no load is run there")

// Join has this process be an agent of the run at an address, for one run: serve gets the --driver value and the connection. It tries to
// get there until patience ends. Its error is ErrNoDoor if no door answers by then, a failure of serve, or the answer.
func Join(ctx context.Context, at Address, token string, patience time.Duration, serve func(driver string, conn io.ReadWriter) error) error {
	config, err := at.Load()
	if err != nil {
		return err
	}
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	silence := time.AfterFunc(max(patience, headTimeout), giveUp)
	trace := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { silence.Stop(); return nil }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(asking, trace), http.MethodPost, map[bool]string{false: "http://", true: "https://"}[at.TLS]+at.String()+"/agent", nil)
	if err != nil {
		return err
	}
	request.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {upgrade}, "Authorization": {"Bearer " + token}}
	transport := &http.Transport{
		DialContext: (&net.Dialer{Timeout: headTimeout}).DialContext, TLSClientConfig: config, TLSHandshakeTimeout: headTimeout, MaxResponseHeaderBytes: mostHead, DisableKeepAlives: true,
	}
	began := time.Now()
	var answer *http.Response // when a run begins
	var wrongTLS bool         // now and later
	every(knockEvery, asking.Done(), func() bool {
		answer, err = transport.RoundTrip(request) //nolint:bodyclose // is closed below
		wrongTLS = errors.As(err, new(tls.RecordHeaderError)) || errors.As(err, new(*tls.CertificateVerificationError))
		return err == nil || wrongTLS || strings.Contains(err.Error(), "server response headers exceeded") || time.Since(began) > patience
	})
	switch {
	case wrongTLS:
		return fmt.Errorf("%s: %w", at, err)
	case err != nil && asking.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("%w: %s accepts connections and does not answer", ErrNoDoor, at)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNoDoor, err)
	}
	silence.Stop()
	defer answer.Body.Close()
	conn, upgraded := answer.Body.(io.ReadWriter)
	if !upgraded {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		if answer.StatusCode == http.StatusServiceUnavailable {
			return fmt.Errorf("%w for this agent: %s", ErrNoDoor, text)
		}
		return fmt.Errorf("%s answered %s: %s", at, answer.Status, text)
	}
	defer context.AfterFunc(ctx, func() { _ = answer.Body.Close() })()
	alone := time.AfterFunc(orphaned, func() { _ = answer.Body.Close() })
	if err = serve(answer.Header.Get(driverHeader), heard{conn, alone}); !alone.Stop() {
		return fmt.Errorf("heard nothing of the run at %s for %s", at, orphaned)
	}
	return err
}

// Address is an address to listen at, for the pages and for agents, or of such a server.
type Address struct {
	Host, Port string
	TLS        bool
	Files      redis.Files
}

// ParseListen reads an address to listen at: HOST:PORT, or with TLS HOST:PORT?tls_cert=FILE&tls_key=FILE. The default host is loopback.
func ParseListen(s string) (Address, error) {
	return parseAddress(s, "HOST:PORT?tls_cert=FILE&tls_key=FILE", "tls_cert", "tls_key")
}

// ParseServer reads the address of a server: HOST:PORT, http://HOST:PORT, or with TLS https://HOST:PORT, whose certificate an authority
// of the system has signed, and HOST:PORT?tls_ca=FILE.
func ParseServer(s string) (a Address, err error) {
	rest, secure := strings.CutPrefix(s, "https://")
	a, err = parseAddress(strings.TrimPrefix(rest, "http://"), "HOST:PORT?tls_ca=FILE or https://HOST:PORT", "tls_ca")
	a.TLS = a.TLS || secure
	return a, err
}

// parseAddress reads HOST:PORT, and with TLS all of the named files.
func parseAddress(s, secure string, files ...string) (Address, error) {
	at, parameters, _ := strings.Cut(s, "?")
	host, port, _ := net.SplitHostPort(strings.TrimSuffix(at, "/")) // both are empty if it fails
	_, err := strconv.ParseUint(port, 10, 16)
	query, malformed := url.ParseQuery(parameters)
	given := slices.Sorted(maps.Keys(query))
	missing := len(given) > 0 && (!slices.Equal(given, files) || slices.ContainsFunc(files, func(name string) bool { return query.Get(name) == "" }))
	if err != nil || malformed != nil || missing {
		return Address{}, fmt.Errorf("expected HOST:PORT such as 127.0.0.1:8080, or port 0 for a free one, or with TLS %s, got %q", secure, s)
	}
	trust := redis.Files{CA: query.Get("tls_ca"), Cert: query.Get("tls_cert"), Key: query.Get("tls_key")}
	return Address{cmp.Or(host, "127.0.0.1"), port, len(given) > 0, trust}, nil
}

func (a Address) String() string { return net.JoinHostPort(a.Host, a.Port) }

// IsLocal reports whether only this machine reaches the address.
func (a Address) IsLocal() bool {
	ip, err := netip.ParseAddr(a.Host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(a.Host, "localhost")
}

// Load reads the files for TLS; it returns nil without TLS.
func (a Address) Load() (*tls.Config, error) {
	if !a.TLS {
		return nil, nil
	}
	return a.Files.Load()
}
