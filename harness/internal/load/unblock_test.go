package load

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionsOfAName(t *testing.T) {
	list := "id=3 addr=127.0.0.1:1 laddr=127.0.0.1:2 fd=8 name=part age=1 flags=b cmd=blpop user=default\n" +
		"id=4 addr=127.0.0.1:3 fd=9 name= age=1 flags=N cmd=client|list\n" +
		"id=5 addr=127.0.0.1:4 fd=9 name=part-2 age=1 flags=b cmd=blpop\n" +
		"id=17 addr=127.0.0.1:5 fd=9 name=part age=1 flags=N cmd=evalsha\n"
	require.Equal(t, []string{"3", "17"}, connections(list, "part"))
	require.Empty(t, connections(list, "other"))
}

func FuzzConnections(f *testing.F) {
	f.Add("id=3 addr=127.0.0.1:1 name=part cmd=blpop\n", "part")
	f.Add("name=part id=\n", "part")
	f.Fuzz(func(t *testing.T, list, name string) {
		for _, id := range connections(list, name) {
			require.NotEmpty(t, id)
		}
	})
}
