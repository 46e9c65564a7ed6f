package run

// packed is a histogram in little memory: some KB where its buckets take a quarter of a MB.
type packed struct {
	positive, negative string  // as in a run file
	quantiles          []int64 // of Quantiles
}

// Pack keeps the histograms of a run in as little memory as they take in a file. They tell
// the same: Quantiles at once, and all else after they were decoded again, each time. As long
// as nothing is added to them, several goroutines may ask.
func (r *Document) Pack() error {
	for _, h := range []*Histogram{
		r.Histograms.Lateness, r.Histograms.PastDue, r.Histograms.OfferRTT, r.Histograms.ResponseTime, r.Histograms.ScheduleLag, r.Histograms.RemoveRTT,
	} {
		if h == nil || h.packed != nil {
			continue
		}
		if err := h.pack(); err != nil {
			return err
		}
	}
	return nil
}

func (h *Histogram) pack() (err error) {
	p := &packed{}
	if p.positive, p.negative, err = h.encoded(); err != nil {
		return err
	}
	for _, q := range Quantiles {
		p.quantiles = append(p.quantiles, h.Quantile(q))
	}
	h.positive, h.negative, h.packed = nil, nil, p
	return nil
}

// unpacked is the histogram with its buckets.
func (h *Histogram) unpacked() *Histogram {
	if h.packed == nil {
		return h
	}
	whole := *h
	whole.packed = nil
	positive, err := decodeHDR("hdr", h.packed.positive)
	if err == nil && h.packed.negative != "" {
		whole.negative, err = decodeHDR("hdr_negative", h.packed.negative)
	}
	if err != nil {
		panic(err) // pack has encoded it
	}
	whole.positive = positive
	return &whole
}

// unpack makes room for more values.
func (h *Histogram) unpack() {
	if h.packed != nil {
		*h = *h.unpacked()
	}
}

// keptQuantile is what a packed histogram knows of a quantile.
func (h *Histogram) keptQuantile(q float64) (int64, bool) {
	if h.packed != nil {
		for i, kept := range Quantiles {
			if kept == q {
				return h.packed.quantiles[i], true
			}
		}
	}
	return 0, false
}
