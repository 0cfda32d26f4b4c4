// Package cache keeps values in use, up to a number of bytes.
package cache

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// A Sized cache keeps values up to a number of bytes. When there is no room, the oldest value that was
// not used since it was last passed over goes first. It may be used from any goroutine.
type Sized[K comparable, V any] struct {
	mu    sync.RWMutex // guards the following fields
	limit int
	Used  int
	order *list.List // of *cached[K, V], those to be dropped next first
	byKey map[K]*list.Element
}

type cached[K comparable, V any] struct {
	key   K
	value V
	size  int
	used  atomic.Bool // since it was passed over
}

func New[K comparable, V any](limit int) *Sized[K, V] {
	return &Sized[K, V]{limit: limit, order: list.New(), byKey: make(map[K]*list.Element)}
}

// Lookup returns the value of key, if it is kept.
func (c *Sized[K, V]) Lookup(key K) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	v := e.Value.(*cached[K, V])
	if !v.used.Load() {
		v.used.Store(true)
	}
	return v.value, true
}

// Widen raises a lower limit to so many bytes.
func (c *Sized[K, V]) Widen(limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = max(c.limit, limit)
}

// Put stores a value of so many bytes. What is larger than the whole cache is
// not kept.
func (c *Sized[K, V]) Put(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > c.limit {
		return
	}
	c.removeLocked(key)
	c.byKey[key] = c.order.PushBack(&cached[K, V]{key: key, value: value, size: size})
	c.Used += size
	for c.Used > c.limit {
		first := c.order.Front()
		if v := first.Value.(*cached[K, V]); v.used.Swap(false) {
			c.order.MoveToBack(first)
		} else {
			c.removeLocked(v.key)
		}
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
