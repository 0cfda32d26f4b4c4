// Package cache keeps the values used most, up to a total size.
package cache

import (
	"math"

	"github.com/maypok86/otter/v2"
)

// A Sized cache keeps values up to a total size, those that are used most. The unit of sizes is the
// caller's: bytes, or 1 for each value. It may be used from any goroutine.
type Sized[K comparable, V any] struct {
	// One instance of otter's types serves all keys and values. The compiler writes an instance, some
	// 150 kB, into each package above it: one for each type of value took a third of a build's time.
	values *otter.Cache[any, sized]
}

// sized is a value and its size.
type sized struct {
	value any
	size  int
}

// New returns a cache of up to limit.
func New[K comparable, V any](limit int) *Sized[K, V] {
	return &Sized[K, V]{otter.Must(&otter.Options[any, sized]{
		MaximumWeight: uint64(limit),
		Weigher:       func(_ any, v sized) uint32 { return uint32(min(v.size, math.MaxUint32)) },
		Executor:      func(work func()) { work() }, // no goroutine outlives a call
	})}
}

// Lookup returns the value of key, if it is cached.
func (c *Sized[K, V]) Lookup(key K) (V, bool) {
	v, ok := c.values.GetIfPresent(key)
	value, _ := v.value.(V)
	return value, ok
}

// Put stores a value of a size. What is larger than the whole cache is not cached.
func (c *Sized[K, V]) Put(key K, value V, size int) { c.values.Set(key, sized{value, size}) }

// Delete forgets a key.
func (c *Sized[K, V]) Delete(key K) { c.values.Invalidate(key) }

// Used returns the total size of the values.
func (c *Sized[K, V]) Used() int {
	c.values.CleanUp()
	return int(c.values.WeightedSize())
}

// Len returns the number of cached values.
func (c *Sized[K, V]) Len() int {
	c.values.CleanUp()
	return c.values.EstimatedSize()
}

// Widen raises a lower limit.
func (c *Sized[K, V]) Widen(limit int) {
	if limit := uint64(max(limit, 0)); c.values.GetMaximum() < limit {
		c.values.SetMaximum(limit)
	}
}
