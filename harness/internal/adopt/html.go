package adopt

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.tmpl
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"unmeasured": func() []string { return Unmeasured },
}).Parse(pageText))

// WriteHTML writes the page as one HTML file that needs no network.
func (a *Adoption) WriteHTML(w io.Writer) error { return page.Execute(w, a) }

// SharedScripts is how many texts both send.
func (a *Adoption) SharedScripts() int { return len(a.Scripts) - len(a.DifferingScripts()) }
