package main

import "math"

// The products below are written so that no machine fuses a multiplication with
// an addition (the conversions forbid it), and in a fixed order: the same bytes
// come out everywhere.

// products writes to s the inner product of every row of a with every row of b.
func products(s, a, b []float32, dim int) {
	na, nb := len(a)/dim, len(b)/dim
	// Two rows with two. The last of an odd number is its own second.
	for i := 0; i < na; i += 2 {
		i2 := min(i+1, na-1)
		x, x2 := a[i*dim:(i+1)*dim], a[i2*dim:(i2+1)*dim]
		row, row2 := s[i*nb:(i+1)*nb], s[i2*nb:(i2+1)*nb]
		for j := 0; j < nb; j += 2 {
			j2 := min(j+1, nb-1)
			row[j], row[j2], row2[j], row2[j2] = dots(x, x2, b[j*dim:(j+1)*dim], b[j2*dim:(j2+1)*dim])
		}
	}
}

// dots returns the inner products of x and x2 with y and y2, each as dot does.
func dots(x, x2, y, y2 []float32) (xy, xy2, x2y, x2y2 float32) {
	n := len(x) / block
	if n == 0 {
		return dot(x, y), dot(x, y2), dot(x2, y), dot(x2, y2)
	}
	var s [16]float32
	dotsBlocks(&x[0], &x2[0], &y[0], &y2[0], n, &s)
	for i := n * block; i < len(x); i++ {
		s[0] += float32(x[i] * y[i])
		s[4] += float32(x[i] * y2[i])
		s[8] += float32(x2[i] * y[i])
		s[12] += float32(x2[i] * y2[i])
	}
	return (s[0] + s[1]) + (s[2] + s[3]), (s[4] + s[5]) + (s[6] + s[7]), (s[8] + s[9]) + (s[10] + s[11]), (s[12] + s[13]) + (s[14] + s[15])
}

// spread adds to each row i of out the rows j of b, times g[i,j]. Small factors
// change nothing that can be seen, so they are left out.
func spread(out, g, b []float32, dim int, small float32) {
	nb := len(b) / dim
	for i := range len(out) / dim {
		to := out[i*dim : (i+1)*dim]
		for j, x := range g[i*nb : (i+1)*nb] {
			if x > small || x < -small {
				addScaled(to, b[j*dim:(j+1)*dim], x)
			}
		}
	}
}

// addScaled adds x times v to dst.
func addScaled(dst, v []float32, x float32) {
	if n := len(v) / block; n > 0 {
		addBlocks(&dst[:len(v)][0], &v[0], n, x)
		dst, v = dst[n*block:], v[n*block:]
	}
	for i, y := range v {
		dst[i] += float32(x * y)
	}
}

// dot returns the inner product of a and b: the sums of every fourth number, added
// up. What is left over goes to the first sum.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += float32(a[0] * b[0])
		s1 += float32(a[1] * b[1])
		s2 += float32(a[2] * b[2])
		s3 += float32(a[3] * b[3])
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += float32(x * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// exp is e to the x for x of at most 0, to a millionth, the same on every
// machine; math.Exp is not.
func exp(x float32) float32 {
	if x < -80 {
		return 0
	}
	// x = k ln 2 + r
	t := float32(x * 1.4426950408889634)
	k := int32(t - 0.5)
	r := float32(x - float32(float32(k)*0.693359375))
	r = float32(r + float32(float32(k)*2.12194440e-4))
	p := float32(1.9875691500e-4)
	for _, c := range [...]float32{1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1} {
		p = float32(p*r) + c
	}
	p = float32(float32(p*r)*r) + r
	p += 1
	return float32(p * math.Float32frombits(uint32(k+127)<<23))
}

// logarithm is the natural one of x, which is at least 1.
func logarithm(x float32) float32 {
	frac, power := math.Frexp(float64(x)) // x = frac times 2 to the power, frac from 1/2 to 1
	// ln frac = 2 artanh((frac-1)/(frac+1))
	t := (float32(frac) - 1) / (float32(frac) + 1)
	tt := float32(t * t)
	p := float32(1.0 / 9)
	for _, c := range [...]float32{1.0 / 7, 1.0 / 5, 1.0 / 3, 1} {
		p = float32(p*tt) + c
	}
	return float32(2*t*p) + float32(float32(power)*0.6931471805599453)
}

// tanh is the hyperbolic tangent, the same on every machine.
func tanh(x float32) float32 {
	e := exp(-2 * max(x, -x))
	t := (1 - e) / (1 + e)
	if x < 0 {
		return -t
	}
	return t
}

// sinCos returns the sine and cosine of an angle from 0 to 1.
func sinCos(x float32) (sin, cos float32) {
	term, n := float32(1), float32(0)
	for range 8 {
		cos += term
		term = float32(term*x) / (n + 1)
		sin += term
		term = -float32(term*x) / (n + 2)
		n += 2
	}
	return sin, cos
}
