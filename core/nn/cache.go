package nn

import (
	"math"

	"github.com/libqwen/libqwen/ggml"
)

// Cache holds the keys and values of the positions seen so far, for each layer of a stack.
// Values lie transposed, so that weighing them reads each channel's positions in a row.
//
// A position goes to a slot: for a full cache the slot is the position, for a ring it is the position
// modulo the number of slots. The sums over the slots come out the same however the positions were
// divided among calls.
type Cache struct {
	arena  *ggml.Arena
	keys   []ggml.Tensor // [D·KV, slots]
	values []ggml.Tensor // [slots, D·KV]
	slots  int
	head   int
}

// NewCache makes a zeroed cache for layers of KVHeads·HeadDim channels.
func NewCache(be *ggml.Backend, layers, slots int, t ggml.Type, c AttentionConfig) (*Cache, error) {
	k := &Cache{arena: be.NewArena(2 * layers), slots: slots, head: c.HeadDim}
	for range layers {
		k.keys = append(k.keys, k.arena.New(t, c.KVHeads*c.HeadDim, slots))
		k.values = append(k.values, k.arena.New(t, slots, c.KVHeads*c.HeadDim))
	}
	if err := k.arena.Alloc(); err != nil {
		k.arena.Free()
		return nil, err
	}
	return k, nil
}

// Slots is the number of positions that fit.
func (c *Cache) Slots() int { return c.slots }

// Bytes of the cache.
func (c *Cache) Bytes() uint64 { return c.arena.Bytes() }

// Clear zeroes the cache.
func (c *Cache) Clear() { c.arena.Clear() }

// Save copies the contents, Restore puts them back.
func (c *Cache) Save() []byte         { return c.arena.Save() }
func (c *Cache) Restore(saved []byte) { c.arena.Restore(saved) }

// Free releases the cache.
func (c *Cache) Free() {
	if c != nil {
		c.arena.Free()
	}
}

// CopyFrom takes over the first n slots of a smaller cache of the same layers and type.
func (c *Cache) CopyFrom(old *Cache, n int) {
	for i := range c.keys {
		copyRows(c.keys[i], old.keys[i], n, 1)
		copyRows(c.values[i], old.values[i], 1, n)
	}
}

// copyRows copies the part of src [a, b] that lies in the first rows rows, or of each row the first n elements.
func copyRows(dst, src ggml.Tensor, rows, n int) {
	if n == 1 { // whole rows
		buf := make([]byte, rows*src.RowBytes())
		src.GetBytes(buf)
		dst.SetBytes(buf)
		return
	}
	buf := make([]byte, n*src.RowBytes()/src.Dim(0))
	for r := range src.Dim(1) {
		src.GetBytesAt(r*src.RowBytes(), buf)
		dst.SetBytesAt(r*dst.RowBytes(), buf)
	}
}

// Span is the part of a graph that extends a cache by N positions and sees the first Window slots.
type Span struct {
	Positions ggml.Tensor // I32 [N], input: absolute positions, for the rotation
	Mask      ggml.Tensor // F32 [window, N], input: 0 where a query may see a slot, -Inf elsewhere; none: all

	b       *ggml.Builder
	cache   *Cache
	n       int
	window  int
	at      int         // first slot if it is fixed, else -1
	slots   ggml.Tensor // I64 [N], input
	places  ggml.Tensor // I64 [N·D·KV], input: slots of each value in the transposed cache
	host    hostSpan
	visible []float32
}

// hostSpan is the host's side of the inputs, kept so that a frame allocates nothing.
type hostSpan struct {
	positions []int32
	slots     []int64
	places    []int64
}

// FixedSpan extends the cache at the slots from at on, the same in every run of the graph. Queries see the slots
// up to their own.
func (c *Cache) FixedSpan(b *ggml.Builder, at, n int) *Span {
	s := c.span(b, n, at+n)
	s.at = at
	if n > 1 {
		s.Mask = b.Input("mask", ggml.F32, s.window, n)
	}
	return s
}

// Span extends the cache at slots that are set before each run, and sees the first window slots through a mask.
func (c *Cache) Span(b *ggml.Builder, n, window int) *Span {
	s := c.span(b, n, window)
	s.at = -1
	channels := c.keys[0].Dim(0)
	s.Mask = b.Input("mask", ggml.F32, window, n)
	s.slots = b.Input("slots", ggml.I64, n)
	s.places = b.Input("places", ggml.I64, n*channels)
	s.host.slots, s.host.places = make([]int64, n), make([]int64, n*channels)
	return s
}

func (c *Cache) span(b *ggml.Builder, n, window int) *Span {
	return &Span{b: b, cache: c, n: n, window: window, Positions: b.Input("positions", ggml.I32, n),
		host: hostSpan{positions: make([]int32, n)}, visible: make([]float32, window*n)}
}

// Extend stores the new keys k [D, KV, N] and values v [D·KV, N] of a layer and returns all keys [D, T, KV] and
// values [T, D, KV] in the window.
func (s *Span) Extend(layer int, k, v ggml.Tensor) (keys, values ggml.Tensor) {
	kc, vc := s.b.Use(s.cache.keys[layer]), s.b.Use(s.cache.values[layer])
	channels, kv := kc.Dim(0), kc.Dim(0)/s.cache.head
	k = k.Reshape(channels, s.n)
	if s.at >= 0 {
		k.CopyTo(kc.Slice(1, s.at, s.n))
		v.Reshape(channels, s.n).Transpose().CopyTo(vc.Slice(0, s.at, s.n))
	} else {
		kc = k.SetRows(kc, s.slots)
		column := v.Reshape(1, channels*s.n) // each value is a row of its own
		vc = column.SetRows(vc.Reshape(1, vc.Elements()), s.places).Reshape(s.cache.slots, channels)
	}
	keys = kc.Slice(1, 0, s.window).SplitDim(0, kv).Permute(0, 2, 1, 3) // [D, KV, T] -> [D, T, KV]
	values = vc.Slice(0, 0, s.window).SplitDim(1, kv)                   // [T, D, KV]
	return keys, values
}

// SetFixed uploads the inputs of a FixedSpan; once is enough.
func (s *Span) SetFixed() {
	for i := range s.host.positions {
		s.host.positions[i] = int32(s.at + i)
	}
	s.Positions.SetI32(s.host.positions)
	if s.Mask.Valid() {
		s.setMask(func(q, slot int) bool { return slot <= s.at+q })
	}
}

// Set uploads the inputs for the positions from first on, in a cache that is a ring if the positions outgrow
// it. Queries see themselves and the reach-1 positions before.
func (s *Span) Set(first, reach int) {
	channels := s.cache.keys[0].Dim(0)
	for i := range s.n {
		pos := first + i
		slot := pos % s.cache.slots
		s.host.positions[i], s.host.slots[i] = int32(pos), int64(slot)
		for c := range channels {
			s.host.places[i*channels+c] = int64(c*s.cache.slots + slot)
		}
	}
	s.Positions.SetI32(s.host.positions)
	s.slots.SetI64(s.host.slots)
	s.places.SetI64(s.host.places)
	last := first + s.n - 1
	s.setMask(func(q, slot int) bool {
		pos := last - mod(last-slot, s.cache.slots) // the newest position that this slot can hold
		return pos >= 0 && pos <= first+q && pos > first+q-reach
	})
}

func mod(a, m int) int { return ((a % m) + m) % m }

var negInf = float32(math.Inf(-1))

func (s *Span) setMask(sees func(q, slot int) bool) {
	for q := range s.n {
		row := s.visible[q*s.window : (q+1)*s.window]
		for slot := range row {
			row[slot] = negInf
			if sees(q, slot) {
				row[slot] = 0
			}
		}
	}
	s.Mask.SetF32(s.visible)
}
