package load

import "fmt"

// Message is what became of one message of the measured phase, over all members of the
// fleet. Instants are Unix times in ns, 0 for what has not been.
type Message struct {
	// Due is when it comes due.
	Due int64
	// Sent is the instant before its offer, Answered that of the answer, which Failed says
	// was an error, and Refused one which says that nothing was queued. An offer without an
	// answer was cancelled, or its process was killed.
	Sent, Answered  int64
	Failed, Refused bool
	// Came is the first delivery; Again counts those after it.
	Came, Again int64
	// Pending says that it is still held at the end.
	Pending bool
}

// Acknowledged reports whether its offer was confirmed.
func (m Message) Acknowledged() bool { return m.Answered != 0 && !m.Failed }

// keepLedgers makes the file of a ledger for each member that has none.
func (e *engine) keepLedgers() error {
	for _, m := range e.members {
		if m.ledger != "" {
			continue
		}
		var err error
		if m.ledger, err = makeLedgerFile(e.Plan.Messages()); err != nil {
			return err
		}
	}
	return nil
}

// messages joins the ledgers of all members.
func (w *work) messages(held []byte) ([]Message, error) {
	e := w.engine
	all := make([]Message, e.Plan.Messages())
	for _, m := range e.members {
		records, err := readLedgerFile(m.ledger, int64(len(all)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m, err)
		}
		for i, r := range records {
			all[i].add(r)
		}
	}
	for i := range all {
		all[i].Pending = all[i].Came == 0 && i/8 < len(held) && held[i/8]>>(i%8)&1 == 1
	}
	return all, nil
}

// add joins what a member knows.
func (m *Message) add(r record) {
	if r.Due != 0 {
		m.Due = r.Due
	}
	if r.Sent != 0 {
		m.Sent, m.Answered, m.Failed, m.Refused = r.Sent, r.answered(), r.Answered < 0, r.refused()
	}
	if r.Came == 0 {
		return
	}
	m.Again += r.Again
	if m.Came != 0 {
		m.Again++
	}
	if m.Came == 0 || r.Came < m.Came {
		m.Came = r.Came
	}
}
