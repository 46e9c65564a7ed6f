package forensics

// LimitChunk has every chunk be of at most n members.
func (r *Reader) LimitChunk(n int) {
	for _, p := range []*pace{r.set, r.list} {
		p.size, p.most = n, n
	}
}

// TrailLength is how many entries a walk remembers.
const TrailLength = trailLength
