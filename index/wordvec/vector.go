package wordvec

import "math"

// Normalize makes v unit length. A vector of zeros stays as it is.
func Normalize(v []float32) {
	length := math.Sqrt(float64(Dot(v, v)))
	if length == 0 {
		return
	}
	inverse := float32(1 / length)
	for i := range v {
		v[i] *= inverse
	}
}

// Dot returns the inner product of two vectors of one length: of unit vectors,
// their cosine.
func Dot(a, b []float32) float32 {
	// Four sums at once do not wait for each other.
	var s0, s1, s2, s3 float32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0]*b[0] + a[4]*b[4]
		s1 += a[1]*b[1] + a[5]*b[5]
		s2 += a[2]*b[2] + a[6]*b[6]
		s3 += a[3]*b[3] + a[7]*b[7]
		a, b = a[8:], b[8:]
	}
	b = b[:len(a)]
	for i, x := range a {
		s0 += x * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// Quantize returns v in whole numbers from -127 to 127, and what to multiply
// them by to have v again, nearly.
func Quantize(v []float32) (q []int8, scale float32) {
	var most float32
	for _, x := range v {
		most = max(most, x, -x)
	}
	q = make([]int8, len(v))
	if most == 0 {
		return q, 0
	}
	scale = most / 127
	for i, x := range v {
		q[i] = int8(math.RoundToEven(float64(x / scale)))
	}
	return q, scale
}

// DotInt8 returns the inner product of two vectors of whole numbers of one
// length; times both scales, it is that of the vectors they stand for.
func DotInt8(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += int32(a[0])*int32(b[0]) + int32(a[4])*int32(b[4])
		s1 += int32(a[1])*int32(b[1]) + int32(a[5])*int32(b[5])
		s2 += int32(a[2])*int32(b[2]) + int32(a[6])*int32(b[6])
		s3 += int32(a[3])*int32(b[3]) + int32(a[7])*int32(b[7])
		a, b = a[8:], b[8:]
	}
	b = b[:len(a)]
	for i, x := range a {
		s0 += int32(x) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}
