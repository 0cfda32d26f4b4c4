// Package cache keeps the values used last, up to a number of bytes.
package cache

import (
	"container/list"
	"sync"
)

// A Sized cache keeps the most recently used values up to a number of bytes. It
// may be used from any goroutine.
type Sized[K comparable, V any] struct {
	limit int

	mu    sync.Mutex // guards the following fields
	Used  int
	order *list.List // of *cached[K, V], most recently used first
	byKey map[K]*list.Element
}

type cached[K comparable, V any] struct {
	key   K
	value V
	size  int
}

func New[K comparable, V any](limit int) *Sized[K, V] {
	return &Sized[K, V]{limit: limit, order: list.New(), byKey: make(map[K]*list.Element)}
}

// Lookup returns the value of key, if it is kept.
func (c *Sized[K, V]) Lookup(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached[K, V]).value, true
}

// Put stores a value of so many bytes. What is larger than the whole cache is
// not kept.
func (c *Sized[K, V]) Put(key K, value V, size int) {
	if size > c.limit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
	c.byKey[key] = c.order.PushFront(&cached[K, V]{key, value, size})
	c.Used += size
	for c.Used > c.limit {
		c.removeLocked(c.order.Back().Value.(*cached[K, V]).key)
	}
}

// Delete forgets a key.
func (c *Sized[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
}

// removeLocked forgets a key; the caller holds mu.
func (c *Sized[K, V]) removeLocked(key K) {
	e, ok := c.byKey[key]
	if !ok {
		return
	}
	c.Used -= e.Value.(*cached[K, V]).size
	c.order.Remove(e)
	delete(c.byKey, key)
}
