package dq

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadFrame(t *testing.T) {
	r := bufio.NewReader(bytes.NewReader([]byte(
		"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n" +
			">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\na\r\nb\r\n" +
			"*2\r\n$4\r\npong\r\n$0\r\n\r\n" +
			"+PONG\r\n")))
	for _, want := range [][]string{{"subscribe", "c", "1"}, {"message", "c", "a\r\nb"}, {"pong", ""}, {"PONG"}} {
		frame, err := readFrame(r)
		require.NoError(t, err)
		require.Equal(t, want, frame)
	}
	_, err := readFrame(r)
	require.ErrorIs(t, err, io.EOF)
}

func TestReadFrameRefuses(t *testing.T) {
	for _, text := range []string{
		"-NOAUTH Authentication required.\r\n", "*0\r\n", "*99\r\n", "*x\r\n", "*1\n",
		"*1\r\n$-2\r\n", "*1\r\n$99999999999\r\n", "*1\r\n$1\r\nabc", "*1\r\n*1\r\n:1\r\n", "*1\r\n$5\r\nab",
	} {
		_, err := readFrame(bufio.NewReader(bytes.NewReader([]byte(text))))
		require.Error(t, err, "%q", text)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n17\r\n"))
	f.Add(appendCommand(nil, "SUBSCRIBE", "redisson_delay_queue_channel:{q}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := readFrame(bufio.NewReader(bytes.NewReader(b)))
		if err == nil {
			again, err := readFrame(bufio.NewReader(bytes.NewReader(appendCommand(nil, frame...))))
			require.NoError(t, err)
			require.Equal(t, frame, again)
		}
	})
}
