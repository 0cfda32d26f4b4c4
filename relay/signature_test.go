package relay

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"filippo.io/edwards25519"
)

// The verdict on a signature is that of crypto/ed25519 for every kind of key, point and scalar on which
// implementations are known to differ.
func TestSignaturesAreJudgedAsByTheStandardLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	scalar := func() *edwards25519.Scalar {
		var wide [64]byte
		for i := range wide {
			wide[i] = byte(random.Uint32())
		}
		s, err := edwards25519.NewScalar().SetUniformBytes(wide[:])
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	small := pointsOfSmallOrder(t)
	checker := newSignatureChecker()
	verdicts := map[bool]int{}
	compare := func(what string, key, message, signature []byte) {
		t.Helper()
		want := ed25519.Verify(key, message, signature)
		verdicts[want]++
		if got := checker.checkSignature(key, message, signature); got != want {
			t.Errorf("%s: %t, crypto/ed25519 says %t: key %x, signature %x, message %x", what, got, want, key, signature, message)
		}
		if table := newKeyTable(key); table != nil && checkWithTable(table, key, message, signature) != want {
			t.Errorf("%s: with a table %t, crypto/ed25519 says %t: key %x, signature %x, message %x", what, !want, want, key, signature, message)
		} else if table == nil && want {
			t.Errorf("%s: no table of the key %x, under which crypto/ed25519 accepts a signature", what, key)
		}
	}
	for n := range 150 {
		// A key and a commitment, both with a part of small order, and the answer for which the
		// equation with the cofactor holds. Without the cofactor it holds only when the parts
		// cancel each other.
		secret, commitment := scalar(), scalar()
		message := []byte{byte(n), byte(n >> 8)}
		a := new(edwards25519.Point).ScalarBaseMult(secret)
		r := new(edwards25519.Point).ScalarBaseMult(commitment)
		if n%7 == 0 {
			secret, a = edwards25519.NewScalar(), edwards25519.NewIdentityPoint()
		}
		if n%11 == 0 {
			commitment, r = edwards25519.NewScalar(), edwards25519.NewIdentityPoint()
		}
		key := a.Add(a, small[random.IntN(len(small))]).Bytes()
		point := r.Add(r, small[random.IntN(len(small))]).Bytes()
		digest := sha512.Sum512(slices.Concat(point, key, message))
		k, err := edwards25519.NewScalar().SetUniformBytes(digest[:])
		if err != nil {
			t.Fatal(err)
		}
		s := edwards25519.NewScalar().MultiplyAdd(k, secret, commitment).Bytes()
		signature := slices.Concat(point, s)
		compare("mixed order", key, message, signature)
		compare("another message", key, []byte("x"), signature)
		compare("S plus the order", key, message, slices.Concat(point, addOrder(s)))
		for _, bit := range []byte{0x20, 0x40, 0x80} {
			changed := bytes.Clone(signature)
			changed[63] |= bit
			compare("a high bit of S", key, message, changed)
		}
		changed := bytes.Clone(signature)
		changed[random.IntN(64)] ^= 1 << random.IntN(8)
		compare("a bit of the signature", key, message, changed)
		changedKey := bytes.Clone(key)
		changedKey[random.IntN(32)] ^= 1 << random.IntN(8)
		compare("a bit of the key", changedKey, message, signature)
	}
	// Points with two encodings, as key and as commitment.
	for _, text := range []string{
		"0100000000000000000000000000000000000000000000000000000000000080", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", "0200000000000000000000000000000000000000000000000000000000000000",
	} {
		odd, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 16 {
			message := []byte{byte(n)}
			for _, p := range append(slices.Clone(small), new(edwards25519.Point).ScalarBaseMult(scalar())) {
				compare("an odd key", odd, message, slices.Concat(p.Bytes(), make([]byte, 32)))
				compare("an odd commitment", p.Bytes(), message, slices.Concat(odd, make([]byte, 32)))
			}
			compare("both odd", odd, message, slices.Concat(odd, make([]byte, 32)))
		}
	}
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	good := ed25519.Sign(key, nil)
	for _, signature := range [][]byte{nil, good[:63], append(bytes.Clone(good), 0), good} {
		compare("length", key.Public().(ed25519.PublicKey), nil, signature)
	}
	if verdicts[true] < 100 || verdicts[false] < 100 {
		t.Errorf("the cases show little: %v", verdicts)
	}
}

// pointsOfSmallOrder returns the multiples of a point of order 8.
func pointsOfSmallOrder(t *testing.T) []*edwards25519.Point {
	t.Helper()
	text, err := hex.DecodeString("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
	if err != nil {
		t.Fatal(err)
	}
	generator, err := new(edwards25519.Point).SetBytes(text)
	if err != nil {
		t.Fatal(err)
	}
	points := []*edwards25519.Point{edwards25519.NewIdentityPoint()}
	for len(points) < 8 {
		points = append(points, new(edwards25519.Point).Add(points[len(points)-1], generator))
	}
	return points
}

// addOrder adds the order of the base point to a scalar.
func addOrder(s []byte) []byte {
	order := []byte{0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 31: 0x10}
	sum, carry := make([]byte, 32), 0
	for i := range sum {
		carry += int(s[i]) + int(order[i])
		sum[i] = byte(carry)
		carry >>= 8
	}
	return sum
}
