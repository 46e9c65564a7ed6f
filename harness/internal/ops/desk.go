package ops

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Bounds of a Desk.
const (
	deskItems = 100    // messages of a page
	deskMost  = 10_000 // changes of a plan
	deskPlans = 20     // that wait for a confirmation
	deskBody  = 8 << 20
)

// DeskOptions set a Desk.
type DeskOptions struct {
	Conn    redis.Conn
	Token   string // allows changes, and reading unless Open
	Open    bool   // reading needs no token
	Changes bool   // the verbs are offered
	Redact  bool   // shows no values
	Site
}

// Desk is the page and the metrics of doctor --listen, an http.Handler:
//
//	GET  /         the queues, the gravest first
//	GET  /queue    one queue: its findings and messages, and the verbs
//	GET  /export   messages as lines of JSON
//	POST /plan     the changes of a verb
//	POST /do       makes the changes of a plan, once
//
// A token is taken from ?token= and kept in a cookie, which other sites cannot send.
type Desk struct {
	DeskOptions
	mux    *http.ServeMux
	cookie string

	mu    sync.Mutex
	seen  *Look
	err   error
	plans map[string]*Plan // until they are confirmed
	undo  []string         // files of this desk
}

// deskView is the data of the template.
type deskView struct {
	DeskOptions
	Title, State string
	Notes, Undo  []string
	Look         *Look
	Queue        *Queue
	Of, Where    string
	Items        []Item
	More         bool
	Plan         *Plan
	PlanID       string
	Locked       bool
	status       int
}

var deskPage = template.Must(template.New("desk.html").Funcs(views).ParseFS(files, "desk.html"))

const deskPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// NewDesk returns a Desk that has seen nothing.
func NewDesk(o DeskOptions) *Desk {
	d := &Desk{DeskOptions: o, mux: http.NewServeMux(), plans: map[string]*Plan{}, cookie: "dq_" + rand.Text()[:8]}
	d.mux.Handle("GET /desk.css", http.FileServerFS(files))
	d.mux.Handle("GET /desk.js", http.FileServerFS(files))
	d.mux.HandleFunc("GET /{$}", d.page(d.overview))
	d.mux.HandleFunc("GET /queue", d.page(d.queue))
	d.mux.HandleFunc("GET /export", d.export)
	d.mux.HandleFunc("POST /plan", d.page(d.plan))
	d.mux.HandleFunc("POST /do", d.page(d.do))
	return d
}

// Set takes over a look.
func (d *Desk) Set(seen *Look, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err = err; err == nil {
		d.seen = seen
	}
}

// ServeHTTP implements http.Handler.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	known := func(token string) bool {
		return d.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(d.Token)) == 1
	}
	if token := r.URL.Query().Get("token"); r.Method == http.MethodGet && known(token) {
		http.SetCookie(w, &http.Cookie{Name: d.cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		query := r.URL.Query()
		query.Del("token")
		http.Redirect(w, r, "."+(&url.URL{Path: r.URL.Path, RawQuery: query.Encode()}).RequestURI(), http.StatusSeeOther)
		return
	}
	cookie, err := r.Cookie(d.cookie)
	allowed := err == nil && known(cookie.Value)
	r.Body = http.MaxBytesReader(w, r.Body, deskBody)
	switch {
	case !allowed && (!d.Open || r.Method == http.MethodPost) && !strings.HasPrefix(r.URL.Path, "/desk."):
		d.show(w, deskView{status: http.StatusUnauthorized, Title: "A token is needed", Locked: true, Notes: []string{"The command that serves this page has printed an address with the token."}}, nil)
	case r.Method == http.MethodPost && !d.Changes:
		d.show(w, deskView{status: http.StatusForbidden}, errors.New("this page only reads: doctor --listen --allow-changes offers changes"))
	case r.Method == http.MethodPost && r.ParseForm() != nil:
		d.show(w, deskView{}, fmt.Errorf("expected a form of at most %d MiB; 'dq-bench queue import' reads a file of any size", deskBody>>20))
	default:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the form is read
		ctx, cancel := context.WithTimeout(r.Context(), 4*lookLimit)
		defer cancel()
		d.mux.ServeHTTP(w, r.WithContext(ctx))
	}
}

func (d *Desk) page(view func(*http.Request) (deskView, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := view(r)
		d.show(w, v, err)
	}
}

// show shows a view. An error has the status of the view, or says that the request is wrong.
func (d *Desk) show(w http.ResponseWriter, v deskView, failed error) {
	if failed != nil {
		v = deskView{status: cmp.Or(v.status, http.StatusBadRequest), Title: "Not done", State: "red", Notes: []string{failed.Error()}}
	}
	v.DeskOptions = d.DeskOptions
	_, _, v.Undo = d.last()
	w.Header().Set("Content-Security-Policy", deskPolicy)
	web.Answer(w, cmp.Or(v.status, http.StatusOK), func(out io.Writer) error { return deskPage.Execute(out, v) })
}

// last is the last look, what failed since, and the undo files.
func (d *Desk) last() (seen *Look, notes, undo []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		notes = []string{"The last look failed: " + d.err.Error()}
	}
	if d.seen != nil {
		notes = append(notes, d.seen.Notes()...)
	}
	return d.seen, notes, slices.Clone(d.undo)
}

func (d *Desk) overview(*http.Request) (deskView, error) {
	seen, notes, _ := d.last()
	if seen == nil {
		return deskView{Title: "Queues", Notes: append(notes, "The first look is under way.")}, nil
	}
	return deskView{Title: seen.Page().Verdict, State: map[bool]string{true: "red"}[seen.Red > 0], Look: seen, Notes: notes}, nil
}

// errEnough ends a listing.
var errEnough = errors.New("enough")

// order is a verb, with the queue and the messages that a request names.
func (d *Desk) order(r *http.Request, verb string) (*Editor, *Order, error) {
	editor := NewEditor(d.Conn, r.FormValue("name"))
	editor.Redact = d.Redact
	o := &Order{
		Verb: verb, Queue: r.FormValue("name"), Of: r.Form["of"], IDs: r.Form["id"], All: r.FormValue("all") != "", Where: r.FormValue("where"), To: r.FormValue("to"),
		Lines: strings.NewReader(r.FormValue("lines")), File: r.FormValue("file"), Site: d.Site,
	}
	if len(o.Of) == 0 {
		o.Of = []string{"waiting"}
	}
	return editor, o, o.Check()
}

func (d *Desk) queue(r *http.Request) (deskView, error) {
	editor, order, err := d.order(r, "list")
	if err != nil {
		return deskView{}, err
	}
	look, notes, _ := d.last()
	queues := cmp.Or(look, &Look{}).Queues
	at := slices.IndexFunc(queues, func(q *Queue) bool { return q.Name == order.Queue })
	if at < 0 {
		return deskView{status: http.StatusNotFound}, fmt.Errorf("queue %q: the last look did not find it", order.Queue)
	}
	v := deskView{Title: text.Line(order.Queue), State: string(queues[at].State), Look: look, Queue: queues[at], Of: order.Of[0], Where: order.Where, Notes: notes}
	if r.FormValue("live") != "" { // the page asks for its moving part
		return v, nil
	}
	err = order.Each(r.Context(), editor, func(i Item) error {
		if v.More = len(v.Items) == deskItems; v.More {
			return errEnough
		}
		v.Items = append(v.Items, i)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		v.Notes = append(v.Notes, err.Error())
	}
	slices.SortStableFunc(v.Items, func(a, b Item) int { return cmp.Compare(a.DueMS, b.DueMS) })
	return v, nil
}

func (d *Desk) export(w http.ResponseWriter, r *http.Request) {
	editor, order, err := d.order(r, "export")
	if err == nil && d.Redact {
		err = errors.New("--redact shows no values, and an export has them")
	}
	if err != nil {
		d.show(w, deskView{}, err)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Content-Disposition", "attachment; filename=messages.jsonl")
	out := json.NewEncoder(w)
	if err := order.Each(r.Context(), editor, func(i Item) error { return out.Encode(i.Export()) }); err != nil {
		panic(http.ErrAbortHandler) // a browser sees that the file is not whole
	}
}

// plan shows the changes of a verb.
func (d *Desk) plan(r *http.Request) (deskView, error) {
	var p *Plan
	verb := r.FormValue("verb")
	_, _, files := d.last()
	editor, order, err := d.order(r, verb)
	switch {
	case err != nil:
	case !slices.Contains([]string{"cancel", "deliver", "reschedule", "import", "repair", "undo"}, verb):
		err = fmt.Errorf("%q is no verb of this page", verb)
	case verb == "undo" && !slices.Contains(files, order.File):
		err = fmt.Errorf("%q is no undo file of this page", order.File)
	default:
		p, err = order.Plan(r.Context(), editor)
	}
	if err == nil && len(p.Changes) > deskMost {
		err = fmt.Errorf("%d changes: this page makes %d at most; use dq-bench queue %s", len(p.Changes), deskMost, verb)
	}
	if err != nil {
		return deskView{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.plans) == deskPlans {
		clear(d.plans)
	}
	id := rand.Text()
	d.plans[id] = p
	return deskView{Title: fmt.Sprintf("%s: %d changes", verb, len(p.Changes)), Plan: p, PlanID: id}, nil
}

// do makes the changes of a plan, once.
func (d *Desk) do(r *http.Request) (deskView, error) {
	d.mu.Lock()
	p := d.plans[r.FormValue("plan")]
	delete(d.plans, r.FormValue("plan"))
	d.mu.Unlock()
	if p == nil {
		return deskView{status: http.StatusConflict}, errors.New("this plan was carried out already, or is forgotten: choose again")
	}
	v := deskView{Title: p.Verb + ": done"}
	err := p.Apply(r.Context(), d.Conn)
	if v.Notes = []string{p.Result()}; p.Undo != "" {
		d.mu.Lock()
		d.undo = append(d.undo, p.Undo)
		d.mu.Unlock()
	}
	if err != nil {
		v.Title, v.State, v.Notes = p.Verb+": failed", "red", append(v.Notes, err.Error())
	}
	return v, nil
}
