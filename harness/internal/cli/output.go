package cli

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/text"
)

// says prints the document with --json, and else the text.
func (c *call) says(document any, words string) error {
	if c.json {
		return printJSON(c.OutOrStdout(), document)
	}
	fmt.Fprint(c.OutOrStdout(), text.Inert(words))
	return nil
}

// shows is says for a text that a function writes.
func (c *call) shows(document any, write func(io.Writer) error) error {
	var words strings.Builder
	return errors.Join(write(&words), c.says(document, words.String()))
}

//go:embed *.tmpl
var formFiles embed.FS

var forms = template.Must(template.New("").Funcs(template.FuncMap{
	"columns": columns, "flags": flagsOf, "line": text.Line, "nothingChanged": func() string { return nothingChanged }, "parts": parts,
	"split": func(long string) []string { return strings.Split(long, "\n\n") }, "trim": strings.TrimSpace,
}).ParseFS(formFiles, "*.tmpl"))

// form is a form that is filled in.
func form(name string, data any) string {
	var b strings.Builder
	if err := forms.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the form is part of the program
	}
	return b.String()
}

func printJSON(w io.Writer, document any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(document)
}

// notice prints a line for people, beside the output.
func (c *call) notice(format string, args ...any) { fmt.Fprintf(c.ErrOrStderr(), format+"\n", args...) }

// checkListen checks --listen.
func (c *call) checkListen() (err error) {
	if c.listen != "" {
		c.at, err = load.ParseListen(c.listen)
	}
	return named("listen", err)
}

// warnPlain says that others can read a token on its way.
func (c *call) warnPlain() {
	if !c.at.TLS && !c.at.IsLocal() {
		c.notice("dq-bench: the token crosses the network without TLS, where others can read it: --listen 'HOST:PORT?tls_cert=FILE&tls_key=FILE'")
	}
}

// served serves a page and metrics at --listen, if it is given, until the context of the command ends or done is called.
func (c *call) served(page http.Handler, source web.Metrics) (url string, done func() error, err error) {
	if c.listen == "" {
		return "", func() error { return nil }, nil
	}
	server, err := web.Serve(c.Context(), c.listen, page, web.MetricsHandler(tool(), source), nil)
	if err != nil {
		return "", nil, err
	}
	return server.URL(), server.Close, nil
}

// checkWritable finds out before the work whether a file can be written, and touches none that is there. An empty name is no
// file; a device or a pipe is not looked at.
func checkWritable(flag, name string) error {
	path := filepath.Clean(name)
	switch info, err := os.Stat(path); {
	case name == "", err == nil && !info.IsDir() && !info.Mode().IsRegular():
		return nil
	case err == nil && info.IsDir():
		return fmt.Errorf("%s: %s cannot be written: it is a folder", flag, name)
	}
	if err := run.Writable(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s: %s cannot be written: %w", flag, name, cmp.Or(errors.Unwrap(err), err))
	}
	return nil
}

// checkReports refuses files of --report that cannot be written, before the work.
func (c *call) checkReports() error {
	for i, name := range c.reports {
		if !slices.Contains(report.Endings, filepath.Ext(name)) {
			return usageError(fmt.Errorf("--report %s: expected a file that ends in %s", name, strings.Join(report.Endings, ", ")))
		}
		if slices.ContainsFunc(c.reports[:i], func(other string) bool { return filepath.Clean(other) == filepath.Clean(name) }) {
			return usageError(fmt.Errorf("--report %s: this file is named twice", name))
		}
		if err := checkWritable("--report", name); err != nil {
			return err
		}
	}
	return nil
}

// report writes the page to each file of --report, whole or not at all.
func (c *call) report(page report.Page) error {
	var errs []error
	for _, name := range c.reports {
		errs = append(errs, named("--report", page.Save(name)))
	}
	return errors.Join(errs...)
}

func named(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}
