package conformance

import (
	"fmt"
	"slices"
)

// Level is how like Redisson an implementation must be.
type Level string

// The levels, the strictest first. What a level asks for, those before it do too.
const (
	// Wire asks for the same commands, byte for byte.
	Wire Level = "wire"
	// Exchange asks for the same calls with the same changes. How a command or a script is written does not matter, nor
	// what is read besides.
	Exchange Level = "exchange"
	// State asks for the same replies, keys and order of delivery, and that no rule of package trace finds a statement
	// broken.
	State Level = "state"
)

// Levels are all of them.
func Levels() []Level { return []Level{Wire, Exchange, State} }

// ParseLevel reads the name of a level.
func ParseLevel(name string) (Level, error) {
	if l := Level(name); slices.Contains(Levels(), l) {
		return l, nil
	}
	return "", fmt.Errorf("--level %q: expected wire, exchange or state", name)
}
