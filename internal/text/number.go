package text

import (
	"fmt"
	"time"
)

// Count shows a number with its thousands apart.
func Count(n int64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Plural shows a number of things.
func Plural(n int64, one string) string {
	if n != 1 {
		one += "s"
	}
	return Count(n) + " " + one
}

// Span shows a length of time in ms.
func Span(ms int64) string {
	switch d := time.Duration(ms) * time.Millisecond; {
	case ms > 100*24*3600e3:
		return Count(ms/24/3600e3) + " days"
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.String()
	}
}
