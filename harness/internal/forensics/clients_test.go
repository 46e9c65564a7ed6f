package forensics_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
)

// clientList is what Redis 7.2 answers.
const clientList = "id=7 addr=10.0.0.9:51002 laddr=10.0.0.5:6379 fd=8 name=billing age=3600 idle=2 flags=P db=0 sub=1 psub=0 ssub=0 multi=-1 " +
	"watch=0 qbuf=0 cmd=subscribe user=default redir=-1 resp=2 lib-name= lib-ver=\n" +
	"id=8 addr=[::1]:51003 laddr=[::1]:6379 fd=9 name= age=12 flags=P sub=2 cmd=subscribe user=orders resp=3 lib-name=go-redis(,go1.26) lib-ver=9.23.0\n"

func TestParseClients(t *testing.T) {
	require.Equal(t, []forensics.Client{
		{Address: "10.0.0.9:51002", Name: "billing", User: "default", Age: "3600"},
		{Address: "[::1]:51003", Library: "go-redis(,go1.26)", Version: "9.23.0", User: "orders", Age: "12"},
	}, forensics.ParseClients(clientList))
	require.Empty(t, forensics.ParseClients(""))
	require.Empty(t, forensics.ParseClients("id=7 fd=8\n\n"))
}

// Every client that is found was on a line of its own.
func FuzzParseClients(f *testing.F) {
	f.Add(clientList)
	f.Add("addr==\n= =")
	f.Fuzz(func(t *testing.T, list string) {
		clients := forensics.ParseClients(list)
		if lines := strings.Count(list, "\n") + 1; len(clients) > lines {
			t.Fatalf("%d clients on %d lines", len(clients), lines)
		}
		for _, c := range clients {
			if c.Address == "" || !strings.Contains(list, c.Address) {
				t.Fatalf("address %q is not in the list", c.Address)
			}
		}
	})
}
