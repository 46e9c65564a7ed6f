package adopt

import (
	"slices"
	"strings"
)

// statements cuts a Lua text into lines that people can compare: after each semicolon, and
// before and after what opens or closes a block. Joined they are the text.
func statements(text string) []string {
	var lines []string
	for rest := text; rest != ""; {
		n := statement(rest)
		lines = append(lines, rest[:n])
		rest = rest[n:]
	}
	return lines
}

// statement is the length of the first statement of a text.
func statement(text string) int {
	end := len(text)
	for _, mark := range []string{";", " then ", " do ", " else "} {
		if i := strings.Index(text, mark); i >= 0 {
			end = min(end, i+len(mark))
		}
	}
	for end < len(text) && (text[end] == ' ' || text[end] == '\n') {
		end++
	}
	return end
}

// common returns, for two texts, the length of the longest common subsequence of a[i:] and b[j:].
func common(a, b []string) [][]int {
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if x == y {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	return n
}

// likeness is the share of the longer text that two have in common, in statements.
func likeness(a, b []string) float64 {
	longer := max(len(a), len(b))
	if longer == 0 {
		return 0
	}
	return float64(common(a, b)[0][0]) / float64(longer)
}

// unified is a unified diff of two texts without its head, all of both.
func unified(a, b []string) string {
	n := common(a, b)
	var out strings.Builder
	write := func(mark, line string) { out.WriteString(mark + strings.TrimRight(line, " \n") + "\n") }
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			write(" ", a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && n[i+1][j] >= n[i][j+1]:
			write("-", a[i])
			i++
		default:
			write("+", b[j])
			j++
		}
	}
	return out.String()
}
