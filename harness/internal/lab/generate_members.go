package main

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/recordings"
)

// memberVector is a member as an offer of a real Redisson made it. Bytes are in hexadecimal.
type memberVector struct {
	Layout   string `json:"layout"`
	Releases string `json:"releases"`
	// LengthBytes is the size of the length field: 8, or 4 on a Redis for Windows.
	LengthBytes int `json:"length_bytes"`
	// Random is the argument of a dLc0 offer that makes the id, in decimal.
	Random string `json:"random,omitempty"`
	ID     string `json:"id"`
	Value  string `json:"value"`
	Member string `json:"member"`
	// Due is the score, in Unix ms.
	Due      int64  `json:"due"`
	Recorded string `json:"recorded"`
	Case     string `json:"case,omitempty"`
}

// memberSources are the recordings whose offers are taken: of both layouts, with text, JSON and
// binary values, and of a Redis for Windows.
func memberSources() (all []*monitor.Recording, err error) {
	for _, of := range [][2]string{{"2.9.3", "DQ.offer"}, {"3.21.0", "DQ.offer"}, {"3.21.0", "DQ.codec"}, {"3.21.1", "DQ.offer"}, {"4.7.0", "DQ.offer"}, {"4.7.0", "DQ.codec"}} {
		recording, err := redisson(of[0], of[1])
		if err != nil {
			return nil, err
		}
		all = append(all, recording)
	}
	document, err := read(recordings.Files, "documents/002-zlyx.monitor", "recordings/documents/002-zlyx.monitor")
	return append(all, document), err
}

func memberVectors() (all []memberVector, err error) {
	sources, err := memberSources()
	if err != nil {
		return nil, err
	}
	for _, recording := range sources {
		for _, c := range recording.Cases() {
			for _, call := range trace.Group(c.Lines) {
				if call.Offer == nil || len(call.Inner) == 0 { // no offer, or one that the server did not know yet
					continue
				}
				v, err := memberOf(call)
				if err != nil {
					return nil, fmt.Errorf("%s:%d: %w", recording.Path, call.Number, err)
				}
				v.Recorded, v.Case = recording.Path, c.ID
				all = append(all, v)
			}
		}
	}
	return all, nil
}

// memberOf reads an offer, and checks that the server packed what dq packs.
func memberOf(call trace.Call) (memberVector, error) {
	packed, err := packedBy(call.Inner)
	if err != nil {
		return memberVector{}, err
	}
	m, err := call.Offer.Layout.UnpackAny([]byte(packed))
	if err != nil {
		return memberVector{}, err
	}
	v := memberVector{
		Layout: m.Layout.String(), LengthBytes: m.LengthSize, ID: hex.EncodeToString(m.ID[:]), Value: hex.EncodeToString(m.Value),
		Member: hex.EncodeToString([]byte(packed)), Due: call.Offer.Due,
		Releases: rangesOf(func(r wire.Release) bool { return r.Layout() == m.Layout }),
	}
	want := wire.Member{Layout: call.Offer.Layout, LengthSize: m.LengthSize, Value: []byte(call.Offer.Value)}
	switch want.Layout {
	case wire.LayoutDLc0:
		random, err := strconv.ParseInt(call.Offer.Random, 10, 64)
		if err != nil {
			return v, err
		}
		v.Random, want.ID = call.Offer.Random, wire.DoubleID(random)
	default:
		copy(want.ID[:], call.Offer.Random)
	}
	if string(want.Bytes()) != packed {
		return v, fmt.Errorf("expected the member %x, the server packed %x", want.Bytes(), packed)
	}
	return v, nil
}

// packedBy is the member that an offer's ZADD adds.
func packedBy(inner []monitor.Line) (string, error) {
	if l := inner[0]; l.Name() == "zadd" && len(l.Args) == 4 {
		return l.Args[3], nil
	}
	return "", fmt.Errorf("expected the offer to begin with ZADD of one member, got %q", inner[0].Args)
}
