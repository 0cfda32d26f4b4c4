package index

import (
	"container/list"
	"sync"
)

// A sizedCache keeps the most recently used values up to a number of bytes. It
// may be used from any goroutine.
type sizedCache[K comparable, V any] struct {
	limit int

	mu    sync.Mutex // guards following
	used  int
	order *list.List // of *cached[K, V], most recently used first
	byKey map[K]*list.Element
}

type cached[K comparable, V any] struct {
	key   K
	value V
	size  int
}

func newSizedCache[K comparable, V any](limit int) *sizedCache[K, V] {
	return &sizedCache[K, V]{limit: limit, order: list.New(), byKey: make(map[K]*list.Element)}
}

// lookup returns the value of key, if it is kept.
func (c *sizedCache[K, V]) lookup(key K) (V, bool) {
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

// put stores a value of so many bytes. What is larger than the whole cache is
// not kept.
func (c *sizedCache[K, V]) put(key K, value V, size int) {
	if size > c.limit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
	c.byKey[key] = c.order.PushFront(&cached[K, V]{key, value, size})
	c.used += size
	for c.used > c.limit {
		c.removeLocked(c.order.Back().Value.(*cached[K, V]).key)
	}
}

// delete forgets a key.
func (c *sizedCache[K, V]) delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
}

// removeLocked forgets a key; the caller holds mu.
func (c *sizedCache[K, V]) removeLocked(key K) {
	e, ok := c.byKey[key]
	if !ok {
		return
	}
	c.used -= e.Value.(*cached[K, V]).size
	c.order.Remove(e)
	delete(c.byKey, key)
}
