package codec

import "fmt"

// Year is a java.time.Year.
type Year int32

func (y Year) valid() bool { return y >= -maxYear && y <= maxYear }

// YearMonth is a java.time.YearMonth.
type YearMonth struct {
	Year  int32
	Month uint8
}

// String returns the month as ISO 8601 writes it.
func (m YearMonth) String() string { return fmt.Sprintf("%04d-%02d", m.Year, m.Month) }

func (m YearMonth) valid() bool { return Year(m.Year).valid() && m.Month >= 1 && m.Month <= 12 }

// MonthDay is a java.time.MonthDay.
type MonthDay struct{ Month, Day uint8 }

// String returns the day as ISO 8601 writes it, "--02-29".
func (d MonthDay) String() string { return fmt.Sprintf("--%02d-%02d", d.Month, d.Day) }

func (d MonthDay) valid() bool {
	const leapYear = 2000
	return LocalDate{leapYear, d.Month, d.Day}.valid()
}

// OffsetTime is a java.time.OffsetTime.
type OffsetTime struct {
	Time LocalTime
	// Offset is what the time is ahead of UTC, in seconds.
	Offset int32
}

// String returns the time as ISO 8601 writes it.
func (t OffsetTime) String() string { return t.Time.String() + offsetID(t.Offset) }

func (t OffsetTime) valid() bool {
	return t.Time.valid() && t.Offset >= -maxOffset && t.Offset <= maxOffset
}

// AtomicLong is a java.util.concurrent.atomic.AtomicLong. Kryo5 writes it in one of two
// ways, by its release, and a message does not tell in which: it is read where it fits one
// of them alone, or means the same in both, and never written by Kryo5.
type AtomicLong int64

// AtomicInteger is a java.util.concurrent.atomic.AtomicInteger; see AtomicLong.
type AtomicInteger int32

// AtomicBoolean is a java.util.concurrent.atomic.AtomicBoolean; see AtomicLong.
type AtomicBoolean bool
