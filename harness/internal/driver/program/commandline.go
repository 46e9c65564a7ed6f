package program

import (
	"fmt"
	"strings"
)

// SplitCommandLine splits the command line of exec:<command line> into program
// and arguments. Words are separated by blanks; single and double quotes hold a
// word together, and outside single quotes a backslash takes the next character
// as it is. Nothing else is special: no shell runs.
func SplitCommandLine(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, escaped := false, false
	quote := rune(0)
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if escaped || quote != 0 {
		return nil, fmt.Errorf("command line %q: expected an end to its last quote or backslash", line)
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("command line %q: expected a program", line)
	}
	return words, nil
}
