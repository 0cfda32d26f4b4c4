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

// dots returns the inner products of x and x2 with y and y2. Four sums at once
// do not wait for each other.
func dots(x, x2, y, y2 []float32) (xy, xy2, x2y, x2y2 float32) {
	n := len(x)
	x2, y, y2 = x2[:n], y[:n], y2[:n]
	for i, a := range x {
		b, c, d := x2[i], y[i], y2[i]
		xy += float32(a * c)
		xy2 += float32(a * d)
		x2y += float32(b * c)
		x2y2 += float32(b * d)
	}
	return xy, xy2, x2y, x2y2
}

// spread adds to each row i of out the rows j of b, times g[i,j]. Small factors
// change nothing that can be seen, so they are left out.
func spread(out, g, b []float32, dim int, small float32) {
	nb := len(b) / dim
	var rows [4][]float32
	var factors [4]float32
	for i := range len(out) / dim {
		to := out[i*dim : (i+1)*dim]
		n := 0
		for j, x := range g[i*nb : (i+1)*nb] {
			if x <= small && x >= -small {
				continue
			}
			rows[n], factors[n] = b[j*dim:(j+1)*dim], x
			if n++; n == len(rows) {
				addFour(to, &rows, &factors)
				n = 0
			}
		}
		for k := range n {
			addScaled(to, rows[k], factors[k])
		}
	}
}

// addFour adds four vectors to dst, each times its factor, one after the other.
func addFour(dst []float32, v *[4][]float32, by *[4]float32) {
	n := len(dst)
	a, b, c, d := v[0][:n], v[1][:n], v[2][:n], v[3][:n]
	x, y, z, w := by[0], by[1], by[2], by[3]
	for i, t := range dst {
		t += float32(x * a[i])
		t += float32(y * b[i])
		t += float32(z * c[i])
		t += float32(w * d[i])
		dst[i] = t
	}
}

// addScaled adds x times v to dst.
func addScaled(dst, v []float32, x float32) {
	for len(v) >= 4 && len(dst) >= 4 {
		dst[0] += float32(x * v[0])
		dst[1] += float32(x * v[1])
		dst[2] += float32(x * v[2])
		dst[3] += float32(x * v[3])
		dst, v = dst[4:], v[4:]
	}
	for i, y := range v {
		dst[i] += float32(x * y)
	}
}

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
