package dq

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// slotRange is slots that the same servers have, the master first.
type slotRange struct {
	start, end int
	servers    []string
}

// slotTable says which servers have which slots. It is never changed.
type slotTable struct {
	ranges  []slotRange     // in the order of slots
	servers map[string]bool // every address; true for those that are master of any slot
}

func newSlotTable(ranges []slotRange) *slotTable {
	slices.SortFunc(ranges, func(a, b slotRange) int { return cmp.Compare(a.start, b.start) })
	table := &slotTable{ranges: ranges, servers: make(map[string]bool)}
	for _, r := range ranges {
		for i, address := range r.servers {
			table.servers[address] = table.servers[address] || i == 0
		}
	}
	return table
}

// master returns the address of the server that a slot's keys are written to; false
// when no server has the slot.
func (t *slotTable) master(slot int) (string, bool) {
	i, _ := slices.BinarySearchFunc(t.ranges, slot, func(r slotRange, slot int) int { return cmp.Compare(r.end, slot) })
	if i == len(t.ranges) || slot < t.ranges[i].start || len(t.ranges[i].servers) == 0 {
		return "", false
	}
	return t.ranges[i].servers[0], true
}

// with returns a table in which a slot has another master.
func (t *slotTable) with(slot int, address string) *slotTable {
	ranges := make([]slotRange, 0, len(t.ranges)+2)
	for _, r := range t.ranges {
		if slot < r.start || slot > r.end {
			ranges = append(ranges, r)
			continue
		}
		if r.start < slot {
			ranges = append(ranges, slotRange{r.start, slot - 1, r.servers})
		}
		if slot < r.end {
			ranges = append(ranges, slotRange{slot + 1, r.end, r.servers})
		}
	}
	return newSlotTable(append(ranges, slotRange{slot, slot, []string{address}}))
}

// askSlots asks one server.
func askSlots(ctx context.Context, n *node) ([]slotRange, error) {
	reply, err := n.ask(ctx, "CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	return parseSlots(reply, n.opt.Addr)
}

// ask sends one command over the background link of a node.
func (n *node) ask(ctx context.Context, command ...any) (any, error) {
	l, err := n.link(ctx, backgroundLane)
	if err != nil {
		return nil, err
	}
	replies, err := l.send(command).wait(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.opt.Addr, err)
	}
	if err, ok := replies[0].(resp.Error); ok {
		return nil, fmt.Errorf("%s: %w", n.opt.Addr, err)
	}
	return replies[0], nil
}

// parseSlots reads the reply to CLUSTER SLOTS: ranges of slots, each with its master
// and then its replicas. A host that is left out is that of the server asked.
func parseSlots(reply any, asked string) ([]slotRange, error) {
	rows, ok := reply.([]any)
	if !ok || len(rows) == 0 {
		return nil, fmt.Errorf("%s: expected its slots, got %.100v", asked, reply)
	}
	all := make([]slotRange, 0, len(rows))
	for _, row := range rows {
		fields, _ := row.([]any)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s: expected a range of slots and its servers, got %.100v", asked, row)
		}
		start, ok1 := fields[0].(int64)
		end, ok2 := fields[1].(int64)
		if !ok1 || !ok2 || start < 0 || end < start || end >= wire.Slots {
			return nil, fmt.Errorf("%s: expected a range of slots, got %.100v", asked, row)
		}
		slots := slotRange{start: int(start), end: int(end)}
		for _, server := range fields[2:] {
			address, err := slotAddress(server, asked)
			if err != nil {
				return nil, err
			}
			slots.servers = append(slots.servers, address)
		}
		all = append(all, slots)
	}
	return all, nil
}

func slotAddress(server any, asked string) (string, error) {
	fields, _ := server.([]any)
	if len(fields) >= 2 {
		host, _ := fields[0].(string)
		if port, ok := fields[1].(int64); ok && port > 0 && port < 1<<16 {
			return fullAddress(net.JoinHostPort(host, fmt.Sprint(port)), asked), nil
		}
	}
	return "", fmt.Errorf("%s: expected a server's host and port, got %.100v", asked, server)
}

// fullAddress puts the host of the server that was asked where an address has none
// ("" or "?"), and where a server that is not on this machine says that another is.
func fullAddress(address, asked string) string {
	host, port, err := net.SplitHostPort(address)
	askedHost, _, askedErr := net.SplitHostPort(asked)
	if err != nil || askedErr != nil {
		return address
	}
	if host == "" || host == "?" || isLoopback(host) && !isLoopback(askedHost) {
		return net.JoinHostPort(askedHost, port)
	}
	return address
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
