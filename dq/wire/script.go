package wire

import (
	"embed"
	"encoding/csv"
	"slices"
	"strings"
)

// Script is one text of a Lua script as some Redisson releases send it. The text is the contract: its SHA-1 is what EVALSHA names.
type Script struct {
	// Name is the same for all variants of a script.
	Name ScriptName
	// Variant distinguishes texts of one name, such as "offer-v1".
	Variant string
	// Object and Method are the Redisson interface and method that send it.
	Object, Method string
	// SHA1 is the lower-case hex digest of Body.
	SHA1 string
	// Body is the text, byte for byte as recorded.
	Body string
	// Keys and Args describe KEYS and ARGV.
	Keys, Args string
	// Reply describes the script's reply if it succeeds; empty for a script that always fails.
	Reply string
	// Cost is how long it takes, of N messages that wait or values in the destination queue, k that it moves or takes, and a arguments.
	Cost string
	// File is the name of the file that holds Body, in the folder scripts.
	File string
	// RecordedFrom is the release that Body was recorded from.
	RecordedFrom string

	ranges [2]releaseRange
}

type releaseRange struct{ first, last Release }

//go:embed scripts
var scriptFiles embed.FS

var scripts = loadScripts()

// Scripts returns the whole catalogue, in the order of scripts/variants.csv.
func Scripts() []Script { return slices.Clone(scripts) }

// ScriptBySHA1 finds the script that a lower-case SHA-1 names.
func ScriptBySHA1(sha1 string) (*Script, bool) {
	for i := range scripts {
		if scripts[i].SHA1 == sha1 {
			return &scripts[i], true
		}
	}
	return nil, false
}

// Script returns the variant of the named script that the release sends, and false if the release has no such script.
func (r Release) Script(name ScriptName) (*Script, bool) {
	for i := range scripts {
		if s := &scripts[i]; s.Name == name && s.SentBy(r) {
			return s, true
		}
	}
	return nil, false
}

// SentBy reports whether the release sends this text. An unknown release sends the text of its nearest known one.
func (s *Script) SentBy(r Release) bool {
	r = ClosestKnown(r)
	for _, rg := range s.ranges {
		if rg.first != (Release{}) && r.AtLeast(rg.first) && rg.last.AtLeast(r) {
			return true
		}
	}
	return false
}

// loadScripts reads the embedded catalogue. Its files are part of the program, so that a fault in them is a fault of the build.
func loadScripts() []Script {
	rows := must(csv.NewReader(must(scriptFiles.Open("scripts/variants.csv"))).ReadAll())
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	var all []Script
	for _, row := range rows[1:] {
		get := func(name string) string { return row[column[name]] }
		body, variant := must(scriptFiles.ReadFile("scripts/"+get("file"))), get("variant")
		all = append(all, Script{
			Name: ScriptName(strings.TrimSuffix(strings.TrimRight(variant, "0123456789"), "-v")), Variant: variant, Object: get("object"), Method: get("method"),
			SHA1: get("sha1"), Body: string(body), Keys: get("keys"), Args: get("args"),
			Reply: get("reply"), Cost: get("cost"), File: get("file"), RecordedFrom: get("recorded_from"),
			ranges: [2]releaseRange{
				rangeOf(get("first_2x"), get("last_2x")),
				rangeOf(get("first_3x"), get("last_3x")),
			},
		})
	}
	return all
}

func rangeOf(first, last string) releaseRange {
	if first == "" {
		return releaseRange{}
	}
	return releaseRange{must(ParseRelease(first)), must(ParseRelease(last))}
}

// must panics at a fault of an embedded file.
func must[T any](v T, err error) T {
	if err != nil {
		panic("wire: " + err.Error())
	}
	return v
}
