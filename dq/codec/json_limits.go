package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// jsonLimits are what a Jackson reads of JSON, 0 for no limit: what is beyond them it refuses. Base64 has none.
type jsonLimits struct {
	text   int // UTF-16 units of a text
	name   int // bytes of the name of a member: Jackson counts those of a buffer, so that fewer units than that are too many
	digits int // of a number, with those of its exponent
	depth  int // of objects and arrays
	hint   string
}

var (
	limitsOf2150 = jsonLimits{5_000_000, 50_000, 1000, 1000, " in Redisson 3.21.1, which is to be reckoned with where no release is named"}
	limitsOf2152 = jsonLimits{text: 20_000_000, name: 50_000, digits: 1000, depth: 1000}
	limitsOf3    = jsonLimits{text: 20_000_000, name: 50_000, digits: 1000, depth: 500}
)

// limitsOf returns what is read by the Jackson of a release, or of every release where that is zero. Jackson 2 has
// limits since 2.15, which came with Redisson 3.21.1; 2.15.2 of Redisson 3.23.5 reads longer texts. One of names has
// come in between.
func limitsOf(codec Name, r wire.Release) jsonLimits {
	switch {
	case codec.jackson3():
		return limitsOf3
	case codec != NameJSON && codec != NameTypedJSON:
		return jsonLimits{}
	case r == wire.Release{}:
		return limitsOf2150
	case r.AtLeast(wire.Release{Major: 3, Minor: 23, Patch: 5}):
		return limitsOf2152
	case r.AtLeast(wire.Release{Major: 3, Minor: 21, Patch: 1}):
		limits := limitsOf2150
		limits.hint = " in Redisson " + r.String()
		return limits
	}
	return jsonLimits{}
}

// exceeded says why Jackson does not read a value, or nothing.
func (l jsonLimits) exceeded(value any) string {
	if l == (jsonLimits{}) {
		return ""
	}
	switch value := value.(type) {
	case string:
		return l.over("a text of %d characters", unitsOf(value, l.text), l.text)
	case *big.Int:
		if value.BitLen() > 3*l.digits { // less than which has fewer
			return l.over("a number of %d digits", digitsIn(value.String()), l.digits)
		}
	case Decimal:
		if unscaled, scale, err := value.parts(); err == nil && (unscaled.BitLen() > 3*l.digits || int(scale) >= l.digits || int(scale) <= -l.digits) {
			return l.over("a number of %d digits", max(digitsIn(value.plain()), digitsIn(value.canonical())), l.digits)
		}
	case json.RawMessage:
		return l.inRaw(value)
	}
	return ""
}

// exceededBy is exceeded for the name of a member.
func (l jsonLimits) exceededBy(name string) string {
	if l.name == 0 {
		return ""
	}
	return l.over("a key of %d bytes", len(name), l.name)
}

func (l jsonLimits) over(what string, n, limit int) string {
	if limit == 0 || n <= limit {
		return ""
	}
	return fmt.Sprintf(what+", of which Jackson reads no more than %d", n, limit) + l.hint
}

// inRaw is exceeded for JSON that a type has made of itself.
func (l jsonLimits) inRaw(data []byte) string {
	if len(data) <= l.digits {
		return ""
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		wrong := ""
		switch token := token.(type) {
		case string:
			wrong = l.exceeded(token)
		case json.Number:
			wrong = l.over("a number of %d digits", digitsIn(token.String()), l.digits)
		}
		if wrong != "" {
			return wrong
		}
	}
}

// tooDeep says that Jackson does not read JSON for what is nested in it, or nothing.
func (l jsonLimits) tooDeep(data []byte) string {
	if len(data) <= 2*l.depth || l.depth == 0 {
		return ""
	}
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return l.over("arrays and objects nested %d deep", deepest, l.depth)
}

// unitsOf returns the UTF-16 units of a text; 0 for one that cannot have more than a limit.
func unitsOf(s string, limit int) int {
	if len(s) <= limit {
		return 0
	}
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		if r > 0xffff {
			n++
		}
	}
	return n
}

func digitsIn(number string) (n int) {
	for i := range len(number) {
		if c := number[i]; c >= '0' && c <= '9' {
			n++
		}
	}
	return n
}
