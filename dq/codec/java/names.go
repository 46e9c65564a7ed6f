package java

import "github.com/dq-bench/dq-bench/dq/wire"

// comings are the codecs that some releases lack, with the first and last release that have each, as the classes in their
// jars show. Kryo5 and Marshalling need a library of their own in releases before they are a default.
var comings = []struct {
	name        string
	first, last wire.Release
}{
	{"kryo5", wire.Release{Major: 3, Minor: 11, Patch: 5}, wire.Newest()},
	{"marshalling", wire.Release{Major: 3, Minor: 11, Patch: 3}, wire.Release{Major: 4}},
	{"fst", wire.Release{Major: 2, Minor: 7}, wire.Release{Major: 4}},
}

// Default returns the name of the codec that a release of Redisson uses if its configuration names no codec: kryo5, marshalling,
// fst or json.
func Default(r wire.Release) string {
	newer := func(major, minor int) bool { return r.AtLeast(wire.Release{Major: major, Minor: minor}) }
	switch {
	case newer(3, 19):
		return "kryo5"
	case newer(3, 13):
		return "marshalling"
	case newer(3, 10), newer(2, 15) && !newer(3, 0):
		return "fst"
	}
	return "json"
}

// Optional returns the names of the codecs that some releases lack.
func Optional() (all []string) {
	for _, c := range comings {
		all = append(all, c.name)
	}
	return all
}

// Has reports whether a release of Redisson has the codec of a name.
func Has(r wire.Release, name string) bool {
	for _, c := range comings {
		if c.name == name {
			return r.AtLeast(c.first) && c.last.AtLeast(r)
		}
	}
	return true
}
