package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path/filepath"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Page is a verdict with the figures that it is of. Everything that dq-bench shows is one.
type Page struct {
	Title string
	// State colours the verdict: "ok", "bad", "open", or empty. Tag is the verdict in a word, Next the command that would decide.
	State, Tag, Verdict, Next string
	Lead                      []string // what was looked at
	Banners                   []Banner
	Tiles                     []Tile
	Headline                  []Table // above the charts, Tables below them
	Charts                    []Chart
	Tables                    []Table
	Notes                     []string              // at the end
	Data                      Table                 // the table that CSV writes; the first of Headline and Tables if it is empty
	XML                       func(io.Writer) error // if set, writes JUnit in the place of the rows with a state
	Links                     []Link
	Choose                    string // where a form around Headline leads with what is ticked
	Live                      *Live  // set on a page that its server keeps up to date
}

// Banner is a warning above the verdict. A Loud one cannot be overlooked.
type Banner struct {
	Loud        bool
	Title, Text string
}

// Tile is a key figure, with one value for each set.
type Tile struct {
	Label, Hint string
	Values      []TileValue
}

// TileValue is the figure of a set; Side is -1 if there is only one.
type TileValue struct {
	Side              int
	Name, Text, Class string
}

// Link leads to another page of the same server.
type Link struct{ Href, Text string }

// Live says how a run under way stands. A request to stop must bring Token; a page without it only shows the run.
type Live struct {
	CanStop bool
	Token   string
}

//go:embed assets
var assets embed.FS

var (
	script = asset("uPlot.iife.min.js") + "\n" + asset("page.js")
	style  = asset("uPlot.min.css") + asset("page.css")
	layout = template.Must(template.New("page.tmpl").Funcs(template.FuncMap{
		// A value for a script element of type application/json: Marshal escapes <, > and &.
		"json":  func(v any) (template.JS, error) { data, err := json.Marshal(v); return template.JS(data), err },
		"minus": func(a, b float64) float64 { return a - b },
		"every": func(i, n int) bool { return i%((n+59)/60) == 0 }, // of a table of n rows, at most 60 are shown
	}).ParseFS(assets, "assets/page.tmpl"))
)

func asset(name string) string {
	data, _ := assets.ReadFile("assets/" + name) // embedded
	return string(data)
}

// policy lets nothing run or load but this package's script. A live page asks its own server besides.
func policy(live bool) string {
	digest := sha256.Sum256([]byte(script))
	text := "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; form-action 'self'; base-uri 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
	if live {
		text += "; connect-src 'self'"
	}
	return text
}

// Write writes the page as one HTML file that needs no other file and no network, whatever names and labels the runs have.
func (p Page) Write(w io.Writer) error { return p.execute(w, "page.tmpl") }

// Update returns what brings an open page to this state.
func (p Page) Update() ([]byte, error) {
	var main bytes.Buffer
	if err := p.execute(&main, "main"); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"title": p.Title, "main": main.String(), "charts": p.Charts})
}

func (p Page) execute(w io.Writer, name string) error {
	var out bytes.Buffer
	if p.Charts == nil {
		p.Charts = []Chart{}
	}
	err := layout.ExecuteTemplate(&out, name, struct {
		Page
		Style  template.CSS
		Script template.JS
		Policy string
	}{p, template.CSS(style), template.JS(script), policy(p.Live != nil)})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

// Endings are the endings of files that Save writes.
var Endings = []string{".csv", ".html", ".md", ".xml"}

// Save writes the page to a file, whole or not at all, in the form of its ending: HTML, Markdown, CSV, or JUnit for .xml.
func (p Page) Save(file string) error {
	var out bytes.Buffer
	if p.XML == nil {
		p.XML = p.JUnit
	}
	write := map[string]func(io.Writer) error{".csv": p.CSV, ".html": p.Write, ".md": p.Markdown, ".xml": p.XML}[filepath.Ext(file)]
	if err := write(&out); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // a link stays
	}
	return run.WriteWhole(filepath.Clean(file), out.Bytes())
}

// File is the name of a run's page.
const File = "report.html"
