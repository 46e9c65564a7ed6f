package page

import (
	"strconv"
	"strings"
)

// chart is one figure of the report: views of the same lines on different
// scales, and a table of the same numbers, which is the text alternative and
// what the page reads values from when somebody points at the chart.
type chart struct {
	ID, Title, Caption string
	Alt                string // what the chart shows, in words
	XLabel             string
	Kinds              []toggle
	Views              []chartView
	Table              chartTable
}

// toggle is a button that hides what its token marks.
type toggle struct{ Token, Label, Class string }

// chartView is one drawing. Scale is "" if there is only one.
type chartView struct {
	Scale string
	X, Y  *axis
	Zero  float64 // where y = 0 lies, outside 0…100 if not in view
	Lines []chartLine
	Marks []tick // vertical lines with a remark
}

// chartLine is one SVG path in a box of 1000 × 1000.
type chartLine struct {
	In    string // tokens of the toggles that hide it
	Class string
	Path  string
}

// chartTable is a table of formatted values.
type chartTable struct {
	Corner string
	Heads  []tableHead
	Rows   []tableRow
}

type tableHead struct{ In, Class, Label string }

type tableRow struct {
	X     float64 // where it lies in the chart, per cent from the left
	Label string
	Cells []string
}

// point is a point in data units; a gap ends a line.
type point struct {
	x, y float64
	gap  bool
}

// linePath joins points up to the next gap.
func (v *chartView) linePath(points []point) string {
	var path strings.Builder
	pen := byte('M')
	for _, p := range points {
		if p.gap {
			pen = 'M'
			continue
		}
		v.writePoint(&path, pen, p)
		pen = 'L'
	}
	return path.String()
}

// dotPath draws a line of no length at every point: with round ends it is a dot
// that keeps its shape however the plot is stretched.
func (v *chartView) dotPath(points []point) string {
	var path strings.Builder
	for _, p := range points {
		if !p.gap {
			v.writePoint(&path, 'M', p)
			path.WriteString("h0")
		}
	}
	return path.String()
}

// areaPath closes the line down to y = 0.
func (v *chartView) areaPath(points []point) string {
	if len(points) == 0 {
		return ""
	}
	closed := append([]point{{x: points[0].x}}, points...)
	return v.linePath(append(closed, point{x: points[len(points)-1].x})) + "Z"
}

func (v *chartView) writePoint(path *strings.Builder, pen byte, p point) {
	path.WriteByte(pen)
	path.WriteString(coordinate(10 * v.X.at(p.x)))
	path.WriteByte(' ')
	path.WriteString(coordinate(1000 - 10*v.Y.at(p.y)))
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// Token and class of a side: the page has colours for eight of them.
func sideToken(side int) string { return "side-" + strconv.Itoa(side) }

func sideClass(side int) string { return "c" + strconv.Itoa(side%8) }

// ZeroShown reports whether the line of zero lies inside the plot and is not its
// lower edge.
func (v chartView) ZeroShown() bool { return v.Zero > 0 && v.Zero < 100 }

// ZeroPath is the line of zero.
func (v chartView) ZeroPath() string { return tick{At: v.Zero}.Horizontal() }

// Horizontal is the path of the grid line of a tick of the vertical axis.
func (t tick) Horizontal() string { return "M0 " + coordinate(1000-10*t.At) + "H1000" }

// Vertical is the path of the grid line of a tick of the horizontal axis.
func (t tick) Vertical() string { return "M" + coordinate(10*t.At) + " 0V1000" }
