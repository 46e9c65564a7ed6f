package series

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Names returns what each side of a series is called wherever it is shown: by its --driver value, and where several have
// the same by that and what tells them apart, "dq (127.0.0.1:6379)": the address of the server, or else the --redis value
// without its password. Sides that are the same, to measure noise, get a number.
func Names(sides []Side) []string {
	return apart(sides,
		func(s Side) string { return s.Spec },
		func(s Side) string { return s.on(redis.Place) },
		func(s Side) string { return s.on(redis.Redact) })
}

// on is the side with its server, told in one way or another.
func (s Side) on(tell func(redis string) string) string {
	if s.Redis == "" {
		return s.Spec
	}
	return s.Spec + " (" + tell(s.Redis) + ")"
}

// apart names each side in the first of the forms in which the fewest others are called the same, and numbers what is left.
func apart(sides []Side, forms ...func(Side) string) []string {
	names := make([]string, len(sides))
	seen := map[string]int{}
	for i, side := range sides {
		fewest := len(sides) + 1
		for _, form := range forms {
			name, same := form(side), 0
			for _, other := range sides {
				if form(other) == name {
					same++
				}
			}
			if same < fewest {
				names[i], fewest = name, same
			}
		}
		if seen[names[i]]++; seen[names[i]] > 1 {
			names[i] += fmt.Sprintf(" (%d)", seen[names[i]])
		}
	}
	return names
}

// alike reports whether another side has the same implementation, so that its name does not tell them apart.
func alike(sides []Side, of int) bool {
	for i, side := range sides {
		if i != of && side.Driver.Identity() == sides[of].Driver.Identity() {
			return true
		}
	}
	return false
}

// Folders returns the name of each side's folder: dq, redisson-4.7.0. A side that
// is there twice, to measure noise, gets a number.
func Folders(sides []Side) []string {
	names := make([]string, len(sides))
	seen := map[string]int{}
	for i, s := range sides {
		name := folderName(strings.TrimSuffix(s.Spec+" "+redis.Redact(s.Redis), " "))
		if seen[name]++; seen[name] > 1 {
			name += "-" + strconv.Itoa(seen[name])
		}
		names[i] = name
	}
	return names
}

func folderName(spec string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, spec)
	return strings.Trim(name[:min(len(name), maxFolderName)], "-.")
}

const maxFolderName = 60
