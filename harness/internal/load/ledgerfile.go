package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// A member that is to be killed keeps its ledger of the measured phase in a file that it
// has mapped: what a process has written there outlives its SIGKILL, and nothing else
// does. The file has a record for each message of the schedule, of whole numbers of 64
// bits in the byte order of the machine.

// record is what such a part knows of a message. Instants are Unix times in ns, 0 for
// what has not been.
type record struct {
	// Due is when the message comes due, by whoever knows it first.
	Due int64
	// Sent is set before the offer is made, Answered when it is answered: below 0 by an
	// error, and from math.MinInt64 on by one which says that nothing was queued.
	Sent, Answered int64
	// Came is the first delivery to this part, Again counts those after it.
	Came, Again int64
}

// refused reports whether its offer was answered by an error which says that nothing was queued.
func (r record) refused() bool { return r.Answered < math.MinInt64/2 }

// answered is when the offer was answered, one way or another; 0 if it was not.
func (r record) answered() int64 {
	if r.refused() {
		return r.Answered - math.MinInt64
	}
	return max(r.Answered, -r.Answered)
}

// recordSize is that of a record in bytes.
const recordSize = 5 * 8

// ledgerFile is the ledger of a part in its file. A nil one keeps nothing. Its methods
// may be called at once from many goroutines.
type ledgerFile struct{ records []mappedRecord }

// mappedRecord is a record in memory that is shared with the file.
type mappedRecord struct{ due, sent, answered, came, again atomic.Int64 }

// openLedgerFile maps a file that has been made for so many messages. It stays mapped
// until the process ends, for a call that hangs may come back at any time.
func openLedgerFile(path string, messages int64) (*ledgerFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := checkLedgerSize(path, info.Size(), messages); err != nil {
		return nil, err
	}
	mapped, err := mapShared(file, int(info.Size()))
	if err != nil {
		return nil, fmt.Errorf("ledger: map %s: %w", path, err)
	}
	return &ledgerFile{unsafe.Slice((*mappedRecord)(unsafe.Pointer(unsafe.SliceData(mapped))), messages)}, nil
}

// sent notes that message i is about to be offered.
func (l *ledgerFile) sent(i, due, at int64) {
	if l == nil {
		return
	}
	l.records[i].due.Store(due)
	l.records[i].sent.Store(at)
}

// answered notes the answer to its offer.
func (l *ledgerFile) answered(i, at int64, err error) {
	switch {
	case l == nil:
	case errors.Is(err, driver.ErrRefused):
		l.records[i].answered.Store(math.MinInt64 + at)
	case err != nil:
		l.records[i].answered.Store(-at)
	default:
		l.records[i].answered.Store(at)
	}
}

// came notes a delivery.
func (l *ledgerFile) came(i, due, at int64) {
	if l == nil {
		return
	}
	r := &l.records[i]
	r.due.Store(due)
	if !r.came.CompareAndSwap(0, at) {
		r.again.Add(1)
	}
}

// makeLedgerFile makes the file of a part that is to be killed. It is written out, so
// that a disk that is full is an error here and not a fault of the part.
func makeLedgerFile(messages int64) (path string, err error) {
	file, err := os.CreateTemp("", "dq-bench-ledger-*")
	if err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	zeros := make([]byte, recordSize*1024)
	for left := messages * recordSize; left > 0 && err == nil; {
		var n int
		n, err = file.Write(zeros[:min(left, int64(len(zeros)))])
		left -= int64(n)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("ledger: %w", err), os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// readLedgerFile reads what a part has left.
func readLedgerFile(path string, messages int64) ([]record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := checkLedgerSize(path, int64(len(data)), messages); err != nil {
		return nil, err
	}
	records := make([]record, messages)
	_, err = binary.Decode(data, binary.NativeEndian, records)
	return records, err
}

func checkLedgerSize(path string, size, messages int64) error {
	if want := messages * recordSize; size != want {
		return fmt.Errorf("ledger: expected %d bytes, %d for each of %d messages, got %d in %s", want, recordSize, messages, size, path)
	}
	return nil
}
