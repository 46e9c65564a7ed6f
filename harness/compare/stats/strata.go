package stats

// LeastFreedom is how many degrees of freedom it takes to tell anything by the t of Student: with one, nothing but a
// factor of hundreds would tell.
const LeastFreedom = 2

// Strata returns by how much the values after are above those before, and the chance that they are as far from each
// other, either way, in values of one level, by the t of Student with so many degrees of freedom: before[i] and after[i]
// are those of the ith stratum, whose own level falls out. Strata that have but one of the two tell nothing. The values are
// taken to be normal, and to differ by as much in each stratum; so one value of each in every stratum is the paired test,
// and one stratum is the test of two samples. The chance is 1 with fewer than LeastFreedom.
func Strata(before, after [][]float64) (shift, p float64, freedom int) {
	var shifts, weights []float64
	left, all := 0., 0. // squares, weights
	freedom = -1
	for i, x := range before {
		y := after[i]
		if len(x) == 0 || len(y) == 0 {
			continue
		}
		meanX, squaresX := meanAndSquares(x)
		meanY, squaresY := meanAndSquares(y)
		weight := 1 / (1/float64(len(x)) + 1/float64(len(y)))
		shifts, weights = append(shifts, meanY-meanX), append(weights, weight)
		shift, all = shift+weight*(meanY-meanX), all+weight
		left += squaresX + squaresY
		freedom += len(x) + len(y) - 1
	}
	if freedom < 0 {
		return 0, 1, 0
	}
	shift /= all
	for i, d := range shifts {
		left += weights[i] * (d - shift) * (d - shift)
	}
	if explained := all * shift * shift; freedom >= LeastFreedom && explained > 0 {
		return shift, studentBeyond(left/(left+explained), freedom), freedom
	}
	return shift, 1, freedom
}

// meanAndSquares are the mean of values and the sum of the squares of their differences to it.
func meanAndSquares(values []float64) (mean, squares float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}
