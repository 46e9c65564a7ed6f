package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A run that does not tell a field neither differs in it nor hides that others do.
func TestDifferencesAreToTheFirstThatTells(t *testing.T) {
	d := Differences{}
	a := []Field{{"scenario", "s"}}
	require.Empty(t, d.Of(a))
	require.Empty(t, d.Of(append(a, Field{"machine", "64 CPUs"})))
	require.Empty(t, d.Of(a))
	require.Equal(t, []string{"machine: 64 CPUs is not 1 CPU"}, d.Of(append(a, Field{"machine", "1 CPU"})))
	require.Equal(t, []string{"scenario: s is not t"}, d.Of([]Field{{"scenario", "t"}}))
}

// Of a machine no more is looked at than the help and the guides say: hosts of one size are told apart by a label.
func TestMachinesAreTheSameByTheirSize(t *testing.T) {
	host := func(change func(*Document)) []Field {
		r := &Document{Environment: Environment{OS: "linux", Arch: "amd64", CPUs: 2, GoVersion: "go1.26", GOMAXPROCS: 2}}
		change(r)
		return r.Configuration()
	}
	one := host(func(*Document) {})
	differ := func(a, b []Field) []string {
		d := Differences{}
		d.Of(a)
		return d.Of(b)
	}
	for what, change := range map[string]func(*Document){
		"OS":           func(r *Document) { r.Environment.OS = "darwin" },
		"architecture": func(r *Document) { r.Environment.Arch = "arm64" },
		"CPUs":         func(r *Document) { r.Environment.CPUs = 4 },
		"GOMAXPROCS":   func(r *Document) { r.Environment.GOMAXPROCS = 1 },
	} {
		require.Len(t, differ(one, host(change)), 1, what)
	}
	require.Empty(t, differ(one, host(func(r *Document) {
		r.Environment.GoVersion, r.Labels = "go1.27", map[string]string{"host": "b"}
	})))
}
