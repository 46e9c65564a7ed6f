package dq

import (
	"errors"
	"fmt"
	"strings"
)

// PartitionTicket names one message of a Partitioned, so that Cancel finds it with one call. As text it is the
// Ticket and the name of its partition, to be kept beside the order that the message is about; the zero value, of no
// message, too.
type PartitionTicket struct {
	// Partition is the name of the destination queue.
	Partition string
	// Ticket is what Cancel of the partition's DelayedQueue takes.
	Ticket Ticket
}

// String returns the text that ParsePartitionTicket reads: the Ticket, "@", and the name of the partition.
func (t PartitionTicket) String() string { return t.Ticket.String() + "@" + t.Partition }

// MarshalText is String.
func (t PartitionTicket) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParsePartitionTicket.
func (t *PartitionTicket) UnmarshalText(text []byte) (err error) {
	*t, err = ParsePartitionTicket(string(text))
	return err
}

// ParsePartitionTicket reads what String wrote, and nothing else.
func ParsePartitionTicket(text string) (PartitionTicket, error) {
	ticket, partition, _ := strings.Cut(text, "@")
	t, err := ParseTicket(ticket)
	if t == (Ticket{}) && err == nil && ticket+"@" == text {
		return PartitionTicket{}, nil // there is none
	}
	if err != nil || partition == "" {
		return PartitionTicket{}, fmt.Errorf("dq: expected a ticket such as %q, got %.90q", "1795329218107-08af82252204180b@orders-0-107", text)
	}
	return PartitionTicket{Partition: partition, Ticket: t}, nil
}

// ticket adds the partition to a ticket that an offer returned with err, as OfferTicket tells it.
func (p *Partition[T]) ticket(t Ticket, err error) (PartitionTicket, error) {
	if err != nil && !errors.Is(err, ErrUncertain) {
		return PartitionTicket{}, err
	}
	return PartitionTicket{Partition: p.Name(), Ticket: t}, err
}
