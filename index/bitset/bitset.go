// Package bitset has sets of small numbers, such as those of the entries of a segment.
package bitset

import "math/bits"

// A Set holds numbers from 0 up to the n that it was made for, one bit each.
type Set []uint64

// New returns an empty set with room for the numbers below n.
func New(n int) Set { return make(Set, Words(n)) }

// Words returns how many words a set with room for the numbers below n has.
func Words(n int) int { return (n + 63) / 64 }

// Add adds i.
func (b Set) Add(i uint32) { b[i/64] |= 1 << (i % 64) }

// Remove removes i.
func (b Set) Remove(i uint32) { b[i/64] &^= 1 << (i % 64) }

// Has reports whether i is in b.
func (b Set) Has(i uint32) bool { return b[i/64]&(1<<(i%64)) != 0 }

// AddRange adds the numbers from from up to, but not including, to.
func (b Set) AddRange(from, to uint32) {
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
func (b Set) HasAny(from, to uint32) bool {
	for i := from; i < to; i++ {
		if b.Has(i) {
			return true
		}
	}
	return false
}

// Intersect removes the numbers that are not in other.
func (b Set) Intersect(other Set) {
	for i := range b {
		b[i] &= other[i]
	}
}

// AddAll adds the numbers in other.
func (b Set) AddAll(other Set) {
	for i := range b {
		b[i] |= other[i]
	}
}

// RemoveAll removes the numbers in other.
func (b Set) RemoveAll(other Set) {
	for i := range b {
		b[i] &^= other[i]
	}
}

// Count returns the number of elements of b.
func (b Set) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// ForEach calls f with every number in b, in order.
func (b Set) ForEach(f func(uint32)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			f(uint32(i*64 + bits.TrailingZeros64(w)))
		}
	}
}
