package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkerForms(t *testing.T) {
	for text, want := range map[string]Worker{"1/4": {1, 4}, "0/4": {0, 4}, "4/4": {4, 4}, "1/1": {1, 1}} {
		got, err := ParseWorker(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "1", "5/4", "-1/4", "1/0", "a/b", "1/4/2", "1 / 4"} {
		_, err := ParseWorker(text)
		require.ErrorContains(t, err, "expected i/n", text)
	}
}

func FuzzParseWorker(f *testing.F) {
	f.Add("2/4")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := ParseWorker(text)
		if err != nil {
			return
		}
		again, err := ParseWorker(w.String())
		require.NoError(t, err)
		require.Equal(t, w, again)
	})
}
