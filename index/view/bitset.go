package view

import (
	"math/bits"
)

// A Bitset is a set of the numbers of a segment's entries.
type Bitset []uint64

func NewBitset(n int) Bitset { return make(Bitset, bitsetLen(n)) }

// bitsetLen returns the length of a set of n numbers.
func bitsetLen(n int) int { return (n + 63) / 64 }

func (b Bitset) Add(i uint32) { b[i/64] |= 1 << (i % 64) }

func (b Bitset) Remove(i uint32) { b[i/64] &^= 1 << (i % 64) }

func (b Bitset) Has(i uint32) bool { return b[i/64]&(1<<(i%64)) != 0 }

// addRange adds the numbers from from up to, but not including, to.
func (b Bitset) addRange(from, to uint32) {
	if from >= to {
		return
	}
	first, last := from/64, (to-1)/64
	head, tail := ^uint64(0)<<(from%64), ^uint64(0)>>(63-(to-1)%64)
	if first == last {
		b[first] |= head & tail
		return
	}
	b[first] |= head
	for i := first + 1; i < last; i++ {
		b[i] = ^uint64(0)
	}
	b[last] |= tail
}

// HasAny reports whether b contains a number from from up to, but not including, to.
func (b Bitset) HasAny(from, to uint32) bool {
	for i := from; i < to; i++ {
		if b.Has(i) {
			return true
		}
	}
	return false
}

// intersect removes the numbers that are not in other.
func (b Bitset) intersect(other Bitset) {
	for i := range b {
		b[i] &= other[i]
	}
}

// addAll adds the numbers in other.
func (b Bitset) addAll(other Bitset) {
	for i := range b {
		b[i] |= other[i]
	}
}

// RemoveAll removes the numbers in other.
func (b Bitset) RemoveAll(other Bitset) {
	for i := range b {
		b[i] &^= other[i]
	}
}

// Count returns the number of elements of b.
func (b Bitset) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// ForEach calls f with every number in b, in order.
func (b Bitset) ForEach(f func(uint32)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			f(uint32(i*64 + bits.TrailingZeros64(w)))
		}
	}
}
