package trace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

func TestWhatACallSays(t *testing.T) {
	offer, _ := newRelease.Script(wire.ScriptOffer)
	transfer, _ := newRelease.Script(wire.ScriptTransfer)
	offered := []string{"4", names.Destination, names.TimeoutSet, names.Pending, names.Channel, "1000", "12345678", "v"}
	call := func(args ...string) trace.Call {
		return trace.Group([]trace.Line{{Peer: "127.0.0.1:1", Args: args}})[0]
	}

	c := call(append([]string{"EVAL", offer.Body}, offered...)...)
	require.Equal(t, "offer-v2", c.Script.Name())
	require.Equal(t, offer.Body, c.Body)
	require.Equal(t, offer.SHA1, c.BodySHA1)
	require.Equal(t, &trace.Offer{Names: names, Layout: wire.LayoutBc0Lc0, Due: 1000, Random: "12345678", Value: "v"}, c.Offer)
	require.Nil(t, c.Transfer)

	c = call("evalsha", strings.ToUpper(transfer.SHA1), "3", names.Destination, names.TimeoutSet, names.Pending, "1000", "100")
	require.Equal(t, transfer.SHA1, c.Script.SHA1)
	require.Empty(t, c.BodySHA1)
	require.Equal(t, &trace.Transfer{
		Names:  wire.Names{Destination: names.Destination, TimeoutSet: names.TimeoutSet, Pending: names.Pending},
		Layout: wire.LayoutBc0Lc0, Now: 1000, Limit: 100,
	}, c.Transfer)
	require.Nil(t, c.Offer)

	c = call("SCRIPT", "LOAD", offer.Body)
	require.Nil(t, c.Script, "nothing is called")
	require.Equal(t, offer.SHA1, c.BodySHA1)

	c = call("EVAL", "return 1", "1", "key", "arg")
	require.Equal(t, &trace.Script{SHA1: c.BodySHA1, Keys: []string{"key"}, Args: []string{"arg"}}, c.Script)
	require.Equal(t, c.BodySHA1, c.Script.Name(), "no Redisson sends it")

	require.Nil(t, call("EVAL", offer.Body, "5", "too", "few", "keys").Script)
	require.Nil(t, call("GET", "orders", "1").Script)
	offered[5] = "soon"
	c = call(append([]string{"EVALSHA", offer.SHA1}, offered...)...)
	require.Equal(t, "offer-v2", c.Script.Name())
	require.Nil(t, c.Offer, "its due time is no number")
}
