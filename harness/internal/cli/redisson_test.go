package cli

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// javaService is a queue that a real Redisson has open, until the test ends.
type javaService struct {
	t      *testing.T
	link   *program.Link
	handle string
}

func openRedisson(t *testing.T, srv *redis.Server, version, queue, codec string) *javaService {
	t.Helper()
	redistest.Redisson(t, version)
	p, err := spec.ParseProgram("redisson:" + version)
	require.NoError(t, err)
	link, err := p.Start(t.Context(), func(line string) { t.Log(line) }, t.Output())
	if err != nil {
		redistest.Missing(t, "redisson", err)
	}
	t.Cleanup(func() { link.Close() })
	s := &javaService{t, link, ""}
	s.handle = s.open(map[string]any{"redis": srv.URL(), "queue": queue, "codec": codec})
	return s
}

// open opens another queue and returns its handle.
func (s *javaService) open(arguments map[string]any) string {
	var opened struct{ Handle string }
	require.NoError(s.t, json.Unmarshal(s.call("open", arguments), &opened))
	return opened.Handle
}

// call runs an op of docs/protocol.md on the queue and returns its result.
func (s *javaService) call(op string, arguments map[string]any) json.RawMessage {
	s.t.Helper()
	all := map[string]any{"handle": s.handle}
	maps.Copy(all, arguments)
	result, err := s.link.Call(s.t.Context(), op, all)
	require.NoError(s.t, err)
	return result
}
