package forensics

// LimitChunk has every chunk be of at most n members.
func (r *Reader) LimitChunk(n int) { r.pace.size, r.pace.most = n, n }

// TrailLength is how many entries a walk remembers.
const TrailLength = trailLength
