package run

import (
	"encoding/json"
	"fmt"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// histogramJSON is a Histogram in a run file. Times are in ns.
//
// hdr is the HdrHistogram V2 compressed form, in base64, of the values from 0
// up. hdr_negative, left out when there are none, is that of the absolute values
// of the negative ones. count, min, max, mean and the quantiles are over both.
type histogramJSON struct {
	Unit        string  `json:"unit"`
	Count       int64   `json:"count"`
	Min         int64   `json:"min"`
	Max         int64   `json:"max"`
	Mean        float64 `json:"mean"`
	P50         int64   `json:"p50"`
	P90         int64   `json:"p90"`
	P99         int64   `json:"p99"`
	P999        int64   `json:"p999"`
	P9999       int64   `json:"p9999"`
	HDR         string  `json:"hdr"`
	HDRNegative string  `json:"hdr_negative,omitempty"`
}

// MarshalJSON writes the form of the run file.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	out := histogramJSON{
		Unit: "ns", Count: h.count, Min: h.min, Max: h.max, Mean: h.Mean(),
		P50: h.Quantile(.5), P90: h.Quantile(.9), P99: h.Quantile(.99),
		P999: h.Quantile(.999), P9999: h.Quantile(.9999),
	}
	var err error
	if out.HDR, out.HDRNegative, err = h.encoded(); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the form of the run file. The quantiles are computed from
// the histograms again; the stored ones are for other readers, and must agree.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var in histogramJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if in.Unit != "ns" {
		return fmt.Errorf("histogram: expected unit \"ns\", got %q", in.Unit)
	}
	read := NewHistogram(TotalDigits)
	if err := read.addEncoded(in); err != nil {
		return err
	}
	if in.Min > in.Max || math.IsNaN(in.Mean) || math.IsInf(in.Mean, 0) {
		return fmt.Errorf("histogram: min %d, max %d and mean %v contradict each other", in.Min, in.Max, in.Mean)
	}
	if in.Count > 0 {
		read.note(in.Count, in.Min, in.Max, in.Mean*float64(in.Count))
	}
	if median := read.Quantile(.5); in.P50 != 0 && math.Abs(float64(in.P50-median)) > .01*math.Abs(float64(median))+2*lowestNs {
		return fmt.Errorf("histogram: p50 says %d, but that of the encoded values is %d", in.P50, median)
	}
	*h = *read
	return nil
}

// addEncoded fills the buckets, and checks them against the stored count.
func (h *Histogram) addEncoded(in histogramJSON) error {
	positive, err := decodeHDR("hdr", in.HDR)
	if err != nil {
		return err
	}
	h.positive = positive
	if in.HDRNegative != "" {
		if h.negative, err = decodeHDR("hdr_negative", in.HDRNegative); err != nil {
			return err
		}
	}
	if held := h.positive.TotalCount() + h.negatives(); held != in.Count {
		return fmt.Errorf("histogram: count says %d, but the encoded values are %d", in.Count, held)
	}
	return nil
}

// encoded is the HDR form of the values from 0 up, and of the negative ones if there are any.
func (h *Histogram) encoded() (positive, negative string, err error) {
	if positive, err = encodeHDR(h.positive); err == nil && h.negatives() > 0 {
		negative, err = encodeHDR(h.negative)
	}
	return positive, negative, err
}

func encodeHDR(h *hdr.Histogram) (string, error) {
	encoded, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encode histogram: %w", err)
	}
	return string(encoded), nil
}

// maxEncodedHDR bounds the input of the decoder: a histogram of this package
// with every bucket in use stays below it.
const maxEncodedHDR = 1 << 20

// decodeHDR reads a histogram, whatever its own bounds and digits, into one with
// the bounds of this package, so that all histograms can be merged.
func decodeHDR(field, encoded string) (*hdr.Histogram, error) {
	if len(encoded) > maxEncodedHDR {
		return nil, fmt.Errorf("histogram: %s is longer than %d characters", field, maxEncodedHDR)
	}
	decoded, err := hdr.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("histogram: %s is no HdrHistogram V2 in base64: %w", field, err)
	}
	own := hdr.New(lowestNs, highestNs, TotalDigits)
	if decoded.LowestTrackableValue() == lowestNs && decoded.HighestTrackableValue() == own.HighestTrackableValue() && decoded.SignificantFigures() == TotalDigits {
		return decoded, nil // as this package writes it
	}
	if dropped := own.Merge(decoded); dropped > 0 {
		return nil, fmt.Errorf("histogram: %s holds %d values above %d ns", field, dropped, highestNs)
	}
	return own, nil
}
