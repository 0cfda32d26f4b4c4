package main

import "math"

// The products below are written so that no machine fuses a multiplication with
// an addition (the conversions forbid it), and in a fixed order: the same bytes
// come out everywhere.

// products writes to s the inner product of every row of a with every row of b.
func products(s, a, b []float32, dim int) {
	na, nb := len(a)/dim, len(b)/dim
	for i := range na {
		x := a[i*dim : (i+1)*dim]
		row := s[i*nb : (i+1)*nb]
		j := 0
		for ; j+4 <= nb; j += 4 {
			y := b[j*dim : (j+4)*dim]
			row[j], row[j+1], row[j+2], row[j+3] = dot4(x, y[:dim], y[dim:2*dim], y[2*dim:3*dim], y[3*dim:])
		}
		for ; j < nb; j++ {
			row[j], _, _, _ = dot4(x, b[j*dim:(j+1)*dim], x, x, x)
		}
	}
}

func dot4(x, a, b, c, d []float32) (sa, sb, sc, sd float32) {
	n := len(x)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	for i, v := range x {
		sa += float32(v * a[i])
		sb += float32(v * b[i])
		sc += float32(v * c[i])
		sd += float32(v * d[i])
	}
	return sa, sb, sc, sd
}

// spread adds to each row i of out the rows j of b, times g[i,j]. Small factors
// change nothing that can be seen and are most of the work, so they are left
// out.
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
