package dq_test

import (
	"bufio"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// answering is a server that answers each command by a function, until the test ends.
func answering(t *testing.T, answer func(command []string) string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := resp.NewReader(bufio.NewReader(c), 1<<16); ; {
					command, err := r.ReadCommand()
					if err != nil {
						return
					}
					if _, err := c.Write([]byte(answer(command))); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A Cluster that is back at the last attempt knows no scripts: it is given the offer's.
func TestFaultAClusterIsBackWithoutScripts(t *testing.T) {
	t.Parallel()
	for _, down := range []int64{0, 11} { // of the attempts there are 12
		var offers atomic.Int64
		var loaded atomic.Bool
		address := answering(t, func(command []string) string {
			switch name := strings.ToUpper(command[0]); {
			case name == "HELLO":
				return "-ERR unknown command 'HELLO'\r\n"
			case name == "SCRIPT" && strings.EqualFold(command[1], "load"):
				loaded.Store(true)
				return "$40\r\n" + strings.Repeat("0", 40) + "\r\n"
			case name == "CLIENT" && strings.EqualFold(command[1], "id"):
				return ":1\r\n"
			case name != "EVALSHA":
				return "+OK\r\n"
			case offers.Add(1) <= down:
				return "-CLUSTERDOWN The cluster is down\r\n"
			case !loaded.Load():
				return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
			}
			return "$-1\r\n"
		})
		rdb := redis.NewClient(&redis.Options{Addr: address})
		client, err := dq.NewClient(rdb, dq.WithClockStepDetection(false))
		require.NoError(t, err)
		d := dq.NewSender(dq.NewTaker(client, "orders", codec.String{}))
		require.NoError(t, d.Offer(deadline(t), "m", 1e12), "down for %d", down)
		require.NoError(t, client.Close())
		require.NoError(t, rdb.Close())
	}
}
