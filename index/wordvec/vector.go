package wordvec

import "math"

// Functions in assembly, where they exist, process numbers in blocks; the plain functions here
// process the rest, and everything on other processors.

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

// Dot returns the inner product of two vectors of the same length: of unit vectors, their cosine.
// The result has the same bits on every processor.
func Dot(a, b []float32) float32 {
	b = b[:len(a)]
	n := len(a) / block * block
	var s [4]float32
	if n > 0 {
		dotBlocks(&a[0], &b[0], n/block, &s)
	}
	return dotProduct(a[n:], b[n:], s)
}

// dotProduct continues with four sums, which do not depend on each other.
func dotProduct(a, b []float32, s [4]float32) float32 {
	for len(a) >= 8 && len(b) >= 8 {
		s[0] += float32(a[0]*b[0]) + float32(a[4]*b[4]) // conversions forbid fusing, which rounds otherwise
		s[1] += float32(a[1]*b[1]) + float32(a[5]*b[5])
		s[2] += float32(a[2]*b[2]) + float32(a[6]*b[6])
		s[3] += float32(a[3]*b[3]) + float32(a[7]*b[7])
		a, b = a[8:], b[8:]
	}
	b = b[:len(a)]
	for i, x := range a {
		s[0] += float32(x * b[i])
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// Add adds weight times v to to, which has the same length.
func Add(to, v []float32, weight float32) {
	v = v[:len(to)]
	n := len(to) / block * block
	if n > 0 {
		addBlocks(&to[0], &v[0], n/block, weight)
	}
	addPlain(to[n:], v[n:], weight)
}

func addPlain(to, v []float32, weight float32) {
	for i, x := range v {
		to[i] += float32(weight * x)
	}
}

// AddInt8 adds weight times v to to, which has the same length.
func AddInt8(to []float32, v []int8, weight float32) {
	v = v[:len(to)]
	n := len(to) / block * block
	if n > 0 {
		addInt8Blocks(&to[0], &v[0], n/block, weight)
	}
	addInt8Plain(to[n:], v[n:], weight)
}

func addInt8Plain(to []float32, v []int8, weight float32) {
	for i, x := range v {
		to[i] += float32(weight * float32(x))
	}
}

// Quantize returns v as integers from -127 to 127, and the factor that restores v approximately.
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

// DotInt8 returns the inner product of two integer vectors of the same length; times both scales,
// it is the inner product of the original vectors.
func DotInt8(a, b []int8) int32 {
	b = b[:len(a)]
	if hasWide && len(a) >= wide {
		n := len(a) / wide * wide
		sum := dotInt8Wide(&a[0], &b[0], n/wide)
		if n == len(a) {
			return sum
		}
		return sum + DotInt8(a[n:], b[n:])
	}
	n := len(a) / block * block
	sum := dotInt8(a[n:], b[n:])
	if n > 0 {
		sum += dotInt8Blocks(&a[0], &b[0], n/block)
	}
	return sum
}

func dotInt8(a, b []int8) int32 {
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
