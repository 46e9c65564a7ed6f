package codec

import "time"

// Period is a java.time.Period.
type Period struct {
	Years, Months, Days int32
}

// URI is a java.net.URI, as its toString writes it.
type URI string

// Currency is a java.util.Currency: its code of ISO 4217, such as "EUR".
type Currency string

// instance is the one that Java has of a currency.
func (c Currency) instance() shared { return shared{"Currency " + string(c), c} }

// Timestamp is a java.sql.Timestamp: an instant. Kryo5 keeps the milliseconds of it alone.
type Timestamp struct {
	// Seconds are those since 1970, rounded down, and Nanos those beyond them.
	Seconds int64
	Nanos   int32
}

// TimestampOf returns t.
func TimestampOf(t time.Time) Timestamp { return Timestamp{t.Unix(), int32(t.Nanosecond())} }

// Time returns the instant in UTC.
func (t Timestamp) Time() time.Time { return time.Unix(t.Seconds, int64(t.Nanos)).UTC() }

func (t Timestamp) valid() bool {
	const mostSeconds = 1 << 53 // whose milliseconds fit 64 bits
	return t.Nanos >= 0 && t.Nanos < 1e9 && t.Seconds > -mostSeconds && t.Seconds < mostSeconds
}

// timestampOf returns the instant that a Date holds, with the nanoseconds of its second.
func timestampOf(ms int64, nanos int32) Timestamp {
	return Timestamp{time.UnixMilli(ms).Unix(), nanos}
}
