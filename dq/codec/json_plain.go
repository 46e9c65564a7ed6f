package codec

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// The methods here are for JSON, which leaves reading to encoding/json.

// MarshalText returns the canonical text.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText takes the canonical text, in letters of either case.
func (u *UUID) UnmarshalText(text []byte) (err error) {
	*u, err = parseUUID(string(text))
	return err
}

func parseUUID(text string) (id UUID, err error) {
	digits := strings.ReplaceAll(text, "-", "")
	if n, err := hex.Decode(id[:], []byte(digits[:min(len(digits), 2*len(id))])); err != nil || n != len(id) || id.String() != strings.ToLower(text) {
		return UUID{}, fmt.Errorf("expected a java.util.UUID, got %.40q", text)
	}
	return id, nil
}

// MarshalJSON returns a number without an exponent, as Jackson 2 writes it.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if reason := checkScalar(d); reason != "" {
		return nil, fmt.Errorf("codec: %s", reason)
	}
	if _, scale, _ := d.parts(); scale > maxJSONScale || scale < -maxJSONScale {
		return nil, fmt.Errorf("codec: %.40q has digits further from the point than %d, which Jackson does not write", string(d), maxJSONScale)
	}
	return []byte(d.plain()), nil
}

// UnmarshalJSON takes a number, with all of its digits; null changes nothing.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(data, &n); err != nil {
		return fmt.Errorf("expected a number for a java.math.BigDecimal, got %.40q", data)
	}
	unscaled, scale, err := Decimal(n).parts()
	if err != nil {
		return err
	}
	*d = decimalOf(unscaled, scale)
	return nil
}
