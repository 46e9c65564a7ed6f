package forensics

import "slices"

const (
	// trailLength is how many entries of a list a walk remembers, to find its way again.
	trailLength = 512
	// sureRun is how many of them in a row are the way: fewer may be some that are
	// listed again further behind.
	sureRun = 32
)

// trail is the last entries that a walk has visited.
type trail struct {
	entries   []string
	forgotten bool // there were more
}

func (t *trail) add(entries []string) {
	t.entries = append(t.entries, entries...)
	if extra := len(t.entries) - trailLength; extra > 0 {
		t.entries = slices.Delete(t.entries, 0, extra)
		t.forgotten = true
	}
}

// find returns the index of the first entry of a chunk that was not visited yet; seen
// is where it is if nothing was removed since, and atHead says that the chunk is the
// head of the list. It is false where the chunk may begin behind entries that were not
// visited.
//
// Where something was removed, the visited ones are the run at the beginning of the
// chunk: an entry that was not visited ends it, so that none is left out.
func (t *trail) find(chunk []string, seen int, atHead bool) (int, bool) {
	if seen == 0 {
		return 0, true
	}
	if tail := t.entries[max(0, len(t.entries)-seen):]; len(chunk) >= seen && slices.Equal(chunk[:seen], tail) {
		return seen, true
	}
	visited := make(map[string]bool, len(t.entries))
	for _, entry := range t.entries {
		visited[entry] = true
	}
	fresh := 0
	for fresh < len(chunk) && visited[chunk[fresh]] {
		fresh++
	}
	return fresh, fresh >= min(sureRun, len(t.entries)) || atHead && !t.forgotten
}
