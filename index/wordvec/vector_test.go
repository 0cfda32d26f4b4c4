package wordvec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func naiveDot(a, b []float32) float32 {
	var sum float32
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func TestDotOfEveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		a, b := random(r, n), random(r, n)
		if got, want := Dot(a, b), naiveDot(a, b); math.Abs(float64(got-want)) > 1e-4 {
			t.Errorf("%d numbers: %v, want %v", n, got, want)
		}
		qa, sa := Quantize(a)
		qb, sb := Quantize(b)
		var want int32
		for i := range qa {
			want += int32(qa[i]) * int32(qb[i])
		}
		got := DotInt8(qa, qb)
		if got != want {
			t.Errorf("%d whole numbers: %d, want %d", n, got, want)
		}
		near := float64(got) * float64(sa) * float64(sb)
		if math.Abs(near-float64(naiveDot(a, b))) > 0.05*math.Sqrt(float64(n))+0.01 {
			t.Errorf("%d numbers: %v after rounding, %v before", n, near, naiveDot(a, b))
		}
	}
}

// TestBlocksEqualPlainFunctions checks that the vector code gives exactly the results of the plain
// functions, so that rankings are the same on every processor.
func TestBlocksEqualPlainFunctions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 300 {
		from := r.IntN(8) // a vector may begin anywhere
		a, b := random(r, n+from)[from:], random(r, n+from)[from:]
		if got, want := Dot(a, b), dotProduct(a, b, [4]float32{}); math.Float32bits(got) != math.Float32bits(want) {
			t.Errorf("Dot of %d numbers: %v, want %v", n, got, want)
		}
		qa, qb := make([]int8, n), make([]int8, n)
		for i := range qa {
			qa[i], qb[i] = int8(r.Uint32()), int8(r.Uint32())
		}
		if got, want := DotInt8(qa, qb), dotInt8(qa, qb); got != want {
			t.Errorf("DotInt8 of %d numbers: %d, want %d", n, got, want)
		}
		got, want, weight := slices.Clone(a), slices.Clone(a), r.Float32()
		Add(got, b, weight)
		addPlain(want, b, weight)
		if !slices.Equal(got, want) {
			t.Errorf("Add of %d numbers: %v, want %v", n, got, want)
		}
		AddInt8(got, qa, weight)
		addInt8Plain(want, qa, weight)
		if !slices.Equal(got, want) {
			t.Errorf("AddInt8 of %d numbers: %v, want %v", n, got, want)
		}
	}
}

func TestDotInt8Limits(t *testing.T) {
	a := make([]int8, 1024)
	for i := range a {
		a[i] = -128
	}
	if got := DotInt8(a, a); got != 1024*128*128 {
		t.Errorf("%d", got)
	}
}

func TestNormalize(t *testing.T) {
	v := []float32{3, 0, -4}
	Normalize(v)
	if math.Abs(float64(Dot(v, v)-1)) > 1e-6 || v[0] < .59 || v[2] > -.79 {
		t.Errorf("%v", v)
	}
	zero := []float32{0, 0}
	Normalize(zero)
	if zero[0] != 0 || zero[1] != 0 {
		t.Errorf("zeros became %v", zero)
	}
}

func TestQuantize(t *testing.T) {
	v := []float32{0.5, -1, 0, 0.003}
	q, scale := Quantize(v)
	for i := range v {
		if d := float64(v[i] - scale*float32(q[i])); math.Abs(d) > float64(scale)/2+1e-7 {
			t.Errorf("%v became %v times %v", v, scale, q)
		}
	}
	if q[1] != -127 {
		t.Errorf("the largest became %d", q[1])
	}
	if q, scale := Quantize([]float32{0, 0}); scale != 0 || q[0] != 0 {
		t.Errorf("zeros became %v times %v", scale, q)
	}
}

func BenchmarkDot(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := random(r, 200), random(r, 200)
	qx, _ := Quantize(x)
	qy, _ := Quantize(y)
	b.Run("naive", func(b *testing.B) {
		for b.Loop() {
			naiveDot(x, y)
		}
	})
	b.Run("float32", func(b *testing.B) {
		for b.Loop() {
			Dot(x, y)
		}
	})
	b.Run("int8", func(b *testing.B) {
		for b.Loop() {
			DotInt8(qx, qy)
		}
	})
}
