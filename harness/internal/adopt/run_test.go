package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// coder answers codec.encode as a Redisson whose default codec is byDefault.
type coder struct {
	program.Program
	byDefault string
}

func (coder) Introduction() program.Hello {
	return program.Hello{Codecs: []string{"default", "string", "long", "json"}}
}

func (c coder) Call(_ context.Context, op string, params any) (json.RawMessage, error) {
	given := params.(map[string]any)
	name, kind := given["codec"].(string), given["value"].(map[string]any)["t"].(string)
	if name == "default" {
		name = c.byDefault
	}
	switch {
	case op != "codec.encode":
		return nil, errors.New("unknown op")
	case name == "long" && kind == "pojo":
		return nil, &program.RemoteError{Class: "java.lang.ClassCastException"}
	case kind == "string" && name != "json":
		name = "text"
	}
	return json.Marshal(map[string]string{"bytes": name + kind})
}

func TestDefaultCodecIsFoundByItsBytes(t *testing.T) {
	for byDefault, want := range map[string]string{"json": "json", "string": "string", "another": "unknown"} {
		shown, err := profileOf(t.Context(), coder{byDefault: byDefault})
		require.NoError(t, err)
		require.Equal(t, want, shown.DefaultCodec, byDefault)
	}
	_, err := profileOf(t.Context(), coder{byDefault: "long"})
	require.ErrorContains(t, err, "asking for the default codec: java.lang.ClassCastException")
}

// Errors, failures, rare differences and cases that were held up run again; what many share does not.
func TestWhatRunsAgain(t *testing.T) {
	cases, _ := load(t)
	plan := Plan{Cases: cases}
	require.Empty(t, plan.again(compared(t, "4.8.0", "4.7.0", nil)))
	require.Less(t, len(plan.again(compared(t, "3.46.0", "3.46.0", nil))), 5, "all are sent otherwise")

	held := "DQ.poll/first-offered"
	require.True(t, slices.ContainsFunc(cases, func(c *conformance.Case) bool { return c.ID == held }))
	a := compared(t, "4.8.0", "4.7.0", func(lines []monitor.Line) {
		if lines != nil && lines[0].Args[1] == "case:"+held {
			for i := range lines {
				lines[i].Time += 200_000 // the client's clock stays behind
			}
		}
	})
	again := plan.again(a)
	require.Len(t, again, 1)
	require.Equal(t, held, again[0].ID)

	for i := range a.Report.Cases {
		switch a.Report.Cases[i].ID {
		case held:
			a.Report.Cases[i].Lines = nil
		case "DQ.poll/empty":
			a.Report.Cases[i].Status = conformance.Error
		}
	}
	again = plan.again(a)
	require.Len(t, again, 1)
	require.Equal(t, "DQ.poll/empty", again[0].ID)
	require.ErrorContains(t, undecided(a.Report), "could not be run, the first DQ.poll/empty")

	second := conformance.NewReport(a.Report.Driver, a.Report.Release, a.Report.Server)
	second.Add(conformance.Result{ID: "DQ.poll/empty", Status: conformance.Pass})
	both := merged(a.Report, second)
	require.Len(t, both.Cases, len(a.Report.Cases))
	require.NoError(t, undecided(both))
}
