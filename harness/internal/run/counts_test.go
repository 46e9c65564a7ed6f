package run

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every field of Counts has one row, whose name is that of the run file, and the rows come in the order of the fields.
func TestTableHasEveryCount(t *testing.T) {
	fields := reflect.TypeFor[Counts]()
	require.Len(t, AllCounts, fields.NumField())
	for i, row := range AllCounts {
		field := fields.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		require.Equal(t, name, row.Name)
		var c Counts
		*row.In(&c) = 7
		require.EqualValues(t, 7, reflect.ValueOf(c).Field(i).Int(), "%s points to another count", name)
		require.NotEmpty(t, row.Title)
		require.True(t, strings.HasSuffix(row.Help, "."), name)
		require.Equal(t, row.Effect == Refused || row.Effect == Wrong, row.Fault != "", name)
		_, known := new(Document).Figure(name)
		require.True(t, known, "an objective can name it")
	}
}

func TestCountsAddUp(t *testing.T) {
	var a Counts
	for i, row := range AllCounts {
		*row.In(&a) = int64(i + 1)
	}
	sum := a.Plus(a)
	for i, row := range AllCounts {
		require.EqualValues(t, 2*(i+1), row.Of(sum), row.Name)
	}
	require.Equal(t, a.Lost+a.Unknown+a.Duplicate+a.Early+a.Revived+a.Corrupt, a.Faults())
}

// What never came and what could not be offered is wrong, too.
func TestWrongCountsWhatNeverCame(t *testing.T) {
	r := &Document{Counts: Counts{Offered: 100, Delivered: 80, Lost: 1, Duplicate: 2, Pending: 10, NotDue: 4, OfferErrors: 3}}
	require.EqualValues(t, 1+2+6+3, r.Wrong())
	r.Interrupted = true
	require.EqualValues(t, 1+2+3, r.Wrong())
}
