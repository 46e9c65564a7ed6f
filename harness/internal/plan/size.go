package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are those of a size, in bytes.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"B", 1}}

// parseSize reads a number of bytes: 100, 64KiB, 1MB.
func parseSize(key, text string) (int, error) {
	if n, err := strconv.ParseInt(text, 0, strconv.IntSize); err == nil {
		return int(n), nil
	}
	for _, unit := range units {
		number, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, strconv.IntSize)
		if err != nil || n > math.MaxInt/unit.bytes || n < math.MinInt/unit.bytes {
			break
		}
		return int(n * unit.bytes), nil
	}
	return 0, fmt.Errorf("%s: expected a whole number of bytes, such as 100, 64kB, 64KiB, 1MB or 1MiB, got %q", key, text)
}

// sized completes a field that is a number of bytes.
func sized(f Field, of func(*Plan) *int, in func(*Scenario) *int) Field {
	f = whole(f, of, in)
	f.Value = func(p *Plan) Value {
		return value[int]{of(p), "bytes", func(text string) (int, error) { return parseSize(f.Key, text) }, strconv.Itoa}
	}
	return f
}
