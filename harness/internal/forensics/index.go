package forensics

import (
	"hash/maphash"
	"slices"
)

// Index tells which members of one key another holds too. It takes 8 bytes and a bit
// for a member: 8.2 MB for a million. It goes by 64-bit hashes with a random seed; that
// two of a million members share one happens in one of 37 million indexes.
type Index struct {
	seed   maphash.Seed
	hashes []uint64
	seen   []uint64 // bits
	unseen int
}

// NewIndex returns an empty Index with room for n members.
func NewIndex(n int) *Index {
	return &Index{seed: maphash.MakeSeed(), hashes: make([]uint64, 0, n)}
}

// Add adds a member.
func (x *Index) Add(member string) { x.hashes = append(x.hashes, maphash.String(x.seed, member)) }

// Seal ends the adding. No member counts as seen.
func (x *Index) Seal() {
	slices.Sort(x.hashes)
	x.hashes = slices.Compact(x.hashes)
	x.seen = make([]uint64, (len(x.hashes)+63)/64)
	x.unseen = len(x.hashes)
}

// See marks a member as seen and reports whether it was added, and seen before.
func (x *Index) See(member string) (known, again bool) {
	i, ok := slices.BinarySearch(x.hashes, maphash.String(x.seed, member))
	if !ok {
		return false, false
	}
	word, bit := &x.seen[i/64], uint64(1)<<(i%64)
	if *word&bit != 0 {
		return true, true
	}
	*word |= bit
	x.unseen--
	return true, false
}

// Unseen reports whether a member was added and not seen since.
func (x *Index) Unseen(member string) bool {
	i, ok := slices.BinarySearch(x.hashes, maphash.String(x.seed, member))
	return ok && x.seen[i/64]&(1<<(i%64)) == 0
}

// CountUnseen is how many members were not seen.
func (x *Index) CountUnseen() int { return x.unseen }
