package core

import (
	"container/list"
	"sync"
)

// lru remembers values by key, up to a total cost; the ones not used for longest are forgotten.
// Several goroutines may use it.
type lru[K comparable, V any] struct {
	mu    sync.Mutex
	limit int
	total int
	order list.List // of lruEntry, the one used last at the front
	byKey map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
	cost  int
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, byKey: map[K]*list.Element{}}
}

func (c *lru[K, V]) get(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return v, false
	}
	c.order.MoveToFront(e)
	return e.Value.(lruEntry[K, V]).value, true
}

// put remembers a value; one that costs more than the limit is not remembered at all.
func (c *lru[K, V]) put(key K, v V, cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[key]; e != nil {
		c.remove(e)
	}
	if cost > c.limit {
		return
	}
	c.byKey[key] = c.order.PushFront(lruEntry[K, V]{key, v, cost})
	c.total += cost
	for c.total > c.limit {
		c.remove(c.order.Back())
	}
}

func (c *lru[K, V]) remove(e *list.Element) {
	entry := c.order.Remove(e).(lruEntry[K, V])
	delete(c.byKey, entry.key)
	c.total -= entry.cost
}
