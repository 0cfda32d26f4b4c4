// Package cache keeps values in use, up to a number of bytes.
package cache

import (
	"math"

	"github.com/maypok86/otter/v2"
)

// A Sized cache keeps values up to a number of bytes, those that are used most. It may be used from any
// goroutine.
type Sized[K comparable, V any] struct {
	kept *otter.Cache[K, sized[V]]
}

// sized is a value and its size in bytes.
type sized[V any] struct {
	value V
	size  int
}

// New returns a cache of up to limit bytes.
func New[K comparable, V any](limit int) *Sized[K, V] {
	return &Sized[K, V]{otter.Must(&otter.Options[K, sized[V]]{
		MaximumWeight: uint64(limit),
		Weigher:       func(_ K, v sized[V]) uint32 { return uint32(min(v.size, math.MaxUint32)) },
		Executor:      func(work func()) { work() }, // no goroutine outlives a call
	})}
}

// Lookup returns the value of key, if it is kept.
func (c *Sized[K, V]) Lookup(key K) (V, bool) {
	v, ok := c.kept.GetIfPresent(key)
	return v.value, ok
}

// Put stores a value of so many bytes. What is larger than the whole cache is not kept.
func (c *Sized[K, V]) Put(key K, value V, size int) { c.kept.Set(key, sized[V]{value, size}) }

// Delete forgets a key.
func (c *Sized[K, V]) Delete(key K) { c.kept.Invalidate(key) }

// Used returns the number of bytes that are kept.
func (c *Sized[K, V]) Used() int {
	c.kept.CleanUp()
	return int(c.kept.WeightedSize())
}

// Widen raises a lower limit to so many bytes.
func (c *Sized[K, V]) Widen(limit int) {
	if limit := uint64(max(limit, 0)); c.kept.GetMaximum() < limit {
		c.kept.SetMaximum(limit)
	}
}
