package analysis_test

import (
	"encoding/binary"
	"io"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// generator is the MONITOR log, of a size of one's choice, of clients of one release that
// offer a message a millisecond to each of several queues, of transfers, and of consumers
// that take each message at once. Besides, an unrelated command goes with each offer.
type generator struct {
	release wire.Release
	queues  int
	delay   int64 // ms
	size    int64 // bytes at which it ends, at the end of a line

	offers, transfers *wire.Script

	now     int64 // µs of the server
	written int64
	sent    uint64
	waiting [][]pending // of each queue, in order of due
	out     []byte
	at      int
}

type pending struct {
	due    int64 // Unix ms
	value  string
	member string
}

const generatedFrom = int64(1_795_236_455_000_000)

func (g *generator) Read(p []byte) (int, error) {
	if g.at == len(g.out) {
		if g.written >= g.size {
			return 0, io.EOF
		}
		g.out, g.at = g.out[:0], 0
		for len(g.out) < 64<<10 {
			g.millisecond()
		}
		g.written += int64(len(g.out))
	}
	n := copy(p, g.out[g.at:])
	g.at += n
	return n, nil
}

func (g *generator) millisecond() {
	if g.waiting == nil {
		g.now, g.waiting = generatedFrom, make([][]pending, g.queues)
		g.offers, _ = g.release.Script(wire.ScriptOffer)
		g.transfers, _ = g.release.Script(wire.ScriptTransfer)
	}
	for q := range g.queues {
		names := wire.NamesOf("orders-" + strconv.Itoa(q))
		g.offer(q, names)
		g.line("10.0.0.9:6000", "GET", "session:"+strconv.FormatUint(g.sent, 10))
		if due := g.waiting[q]; len(due) > 0 && due[0].due <= g.now/1000 {
			g.transfer(q, names)
		}
	}
	g.now += 1000 - int64(g.queues)*10
}

func (g *generator) offer(q int, names wire.Names) {
	g.sent++
	layout := g.release.Layout()
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], g.sent*0x9E3779B97F4A7C15)
	random := string(id[:])
	if layout == wire.LayoutDLc0 {
		number := int64(g.sent * 0x9E3779B97F4A7C15)
		id, random = wire.DoubleID(number), strconv.FormatInt(number, 10)
	}
	value := `{"order":` + strconv.FormatUint(g.sent, 10) + `,"customer":"somebody","total":"12.50"}`
	m := pending{g.now/1000 + g.delay, value, string(layout.Pack(id, []byte(value)))}
	due := strconv.FormatInt(m.due, 10)
	g.call("10.0.0.1:5000", g.offers, []string{names.Destination, names.TimeoutSet, names.Pending, names.Channel}, due, random, value)
	g.line(monitor.LuaPeer, "zadd", names.TimeoutSet, due, m.member)
	g.line(monitor.LuaPeer, "rpush", names.Pending, m.member)
	g.line(monitor.LuaPeer, "zrange", names.TimeoutSet, "0", "0")
	g.waiting[q] = append(g.waiting[q], m)
}

func (g *generator) transfer(q int, names wire.Names) {
	now := strconv.FormatInt(g.now/1000, 10)
	g.call("10.0.0.1:5001", g.transfers, []string{names.Destination, names.TimeoutSet, names.Pending}, now, "100")
	g.line(monitor.LuaPeer, "zrangebyscore", names.TimeoutSet, "0", now, "limit", "0", "100")
	moved := []string{"zrem", names.TimeoutSet}
	for len(g.waiting[q]) > 0 && g.waiting[q][0].due <= g.now/1000 {
		m := g.waiting[q][0]
		g.waiting[q] = g.waiting[q][1:]
		moved = append(moved, m.member)
		g.line(monitor.LuaPeer, "rpush", names.Destination, m.value)
		g.line(monitor.LuaPeer, "lrem", names.Pending, "1", m.member)
	}
	g.line(monitor.LuaPeer, moved...)
	g.line(monitor.LuaPeer, "zrange", names.TimeoutSet, "0", "0", "WITHSCORES")
	for range moved[2:] {
		g.line("10.0.0.2:7000", "BLPOP", names.Destination, "0")
	}
}

// call is a script call as the release sends it.
func (g *generator) call(peer string, script *wire.Script, keys []string, args ...string) {
	line := []string{"EVAL", script.Body}
	if g.release.CachesScripts() {
		line = []string{"EVALSHA", script.SHA1}
	}
	line = append(append(line, strconv.Itoa(len(keys))), keys...)
	g.line(peer, append(line, args...)...)
}

func (g *generator) line(peer string, args ...string) {
	g.now++
	b := append(strconv.AppendInt(make([]byte, 0, 512), g.now/1_000_000, 10), '.')
	micros := strconv.Itoa(int(1_000_000 + g.now%1_000_000))
	b = append(append(append(b, micros[1:]...), " [0 "...), peer...)
	b = append(b, ']')
	for _, arg := range args {
		b = monitor.AppendQuoted(append(b, ' '), arg)
	}
	g.out = append(append(g.out, b...), '\n')
}
