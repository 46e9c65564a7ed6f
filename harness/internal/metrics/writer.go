package metrics

import (
	"bytes"
	"strconv"
	"strings"
)

// contentType names version 0.0.4 of the text format:
// https://prometheus.io/docs/instrumenting/exposition_formats/
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// The types of a family.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	histogram = "histogram"
)

// A Source writes families. An error fails the scrape.
type Source interface{ WriteMetrics(*Writer) error }

// Writer collects families in Prometheus' text format.
type Writer struct {
	out    bytes.Buffer
	name   string // of the family that was begun last
	header string // its first lines, until a sample follows
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Family begins a family. All its samples follow; a family without samples is left out.
func (w *Writer) Family(name, kind, help string) {
	w.name = name
	w.header = "# HELP " + name + " " + helpEscapes.Replace(help) + "\n# TYPE " + name + " " + kind + "\n"
}

// Sample writes a value of the family, with labels as name, value, name, value.
func (w *Writer) Sample(value float64, labels ...string) { w.line("", value, labels) }

func (w *Writer) line(suffix string, value float64, labels []string) {
	w.out.WriteString(w.header + w.name + suffix)
	w.header = ""
	for i := 0; i+1 < len(labels); i += 2 {
		w.out.WriteByte("{,"[min(i, 1)])
		w.out.WriteString(labels[i] + `="` + labelEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		w.out.WriteByte('}')
	}
	w.out.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// Bytes is the text so far.
func (w *Writer) Bytes() []byte { return w.out.Bytes() }

// buckets writes a histogram: counts[i] values lie above bounds[i-1] and not above
// bounds[i], and total values have this sum.
func (w *Writer) buckets(bounds []float64, counts []int64, total int64, sum float64, labels ...string) {
	below := int64(0)
	for i, bound := range bounds {
		below += counts[i]
		w.line("_bucket", float64(below), append(labels[:len(labels):len(labels)], "le", strconv.FormatFloat(bound, 'g', -1, 64)))
	}
	w.line("_bucket", float64(total), append(labels[:len(labels):len(labels)], "le", "+Inf"))
	w.line("_sum", sum, labels)
	w.line("_count", float64(total), labels)
}
