package nn

import (
	"math"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// Cache holds the keys and values of the positions seen so far, for each layer of a stack, of one sequence or of several
// (lanes). Values lie transposed, so that weighing them reads each channel's positions in a row, or, for flash attention,
// like the keys.
//
// A position goes to a slot: for a full cache the slot is the position, for a ring it is the position
// modulo the number of slots. The sums over the slots come out the same however the positions were
// divided among calls.
type Cache struct {
	arena  *ggml.Arena
	keys   []ggml.Tensor // [D·KV, slots, lanes]
	values []ggml.Tensor // [slots, D·KV, lanes]; for flash attention [D·KV, slots, lanes]
	flash  bool
	kernel bool
	slots  int
	head   int
}

// NewCache makes a zeroed cache for layers of KVHeads·HeadDim channels, of one lane.
func NewCache(be *ggml.Backend, layers, slots int, t ggml.Type, c AttentionConfig) (*Cache, error) {
	return NewCacheOf(be, layers, slots, 1, t, c)
}

// NewCacheOf is NewCache for several lanes. With Q8_0 only the keys are, unless attention is flash: values that lie
// transposed have half precision, since a block of them would be of positions that come one after the other.
func NewCacheOf(be *ggml.Backend, layers, slots, lanes int, t ggml.Type, c AttentionConfig) (*Cache, error) {
	k := newCache(be, layers, slots, lanes, t, c)
	if err := k.arena.Alloc(); err != nil {
		k.arena.Free()
		return nil, err
	}
	return k, nil
}

// newCache declares a cache, which has no memory yet.
func newCache(be *ggml.Backend, layers, slots, lanes int, t ggml.Type, c AttentionConfig) *Cache {
	k := &Cache{arena: be.NewArena(2 * layers), slots: slots, head: c.HeadDim, flash: c.Flash, kernel: c.Kernel && !c.Flash}
	channels := c.KVHeads * c.HeadDim
	for range layers {
		k.keys = append(k.keys, k.arena.New(t, channels, slots, lanes))
		if c.Flash {
			k.values = append(k.values, k.arena.New(c.ValueType(t), channels, slots, lanes))
		} else {
			k.values = append(k.values, k.arena.New(c.ValueType(t), slots, channels, lanes))
		}
	}
	return k
}

// ValueType is the type of the values in a cache whose keys have type t.
func (c AttentionConfig) ValueType(t ggml.Type) ggml.Type {
	if t == gguf.Q8_0 && !c.Flash {
		return ggml.F16
	}
	return t
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

// CopyLane takes over the first n positions of lane `from` of a cache of the same layers, type and attention, which may be
// c itself.
func (c *Cache) CopyLane(to int, old *Cache, from, n int) {
	for i := range c.keys {
		copyRows(c.keys[i], to, old.keys[i], from, n, 1)
		if c.flash {
			copyRows(c.values[i], to, old.values[i], from, n, 1)
		} else {
			copyRows(c.values[i], to, old.values[i], from, 1, n)
		}
	}
}

// ClearLane zeroes a lane.
func (c *Cache) ClearLane(lane int) {
	for i := range c.keys {
		for _, x := range []ggml.Tensor{c.keys[i], c.values[i]} {
			n := x.Dim(1) * x.RowBytes()
			x.SetBytesAt(lane*n, make([]byte, n))
		}
	}
}

// copyRows copies the part of a lane of src [a, b, lanes] that lies in the first rows rows, or of each row the first n
// elements.
func copyRows(dst ggml.Tensor, to int, src ggml.Tensor, from, rows, n int) {
	d, s := to*dst.Dim(1)*dst.RowBytes(), from*src.Dim(1)*src.RowBytes()
	if n == 1 { // whole rows
		buf := make([]byte, rows*src.RowBytes())
		src.GetBytesAt(s, buf)
		dst.SetBytesAt(d, buf)
		return
	}
	buf := make([]byte, n*src.RowBytes()/src.Dim(0))
	for r := range src.Dim(1) {
		src.GetBytesAt(s+r*src.RowBytes(), buf)
		dst.SetBytesAt(d+r*dst.RowBytes(), buf)
	}
}

// Span is the part of a graph that extends lanes of a cache by N positions each, and sees the first Window slots of
// each lane. Columns of activations are the positions of the first lane, then those of the second, and so on.
type Span struct {
	Positions ggml.Tensor // I32 [N·lanes], input: absolute positions, for the rotation
	Mask      ggml.Tensor // [window, N, 1, lanes or 1], input, F16 for flash attention, else F32: 0 where a query may see a slot, -Inf elsewhere; none: all

	b       *ggml.Builder
	cache   *Cache
	n       int
	window  int
	at      int         // first slot if it is fixed, else -1
	lane    int         // the first
	lanes   int         // their number
	slots   ggml.Tensor // I64 [N·lanes], input
	places  ggml.Tensor // I64 [N·D·KV·lanes], input: slots of each value in the transposed cache; none for flash attention
	host    hostSpan
	visible []float32
	halves  []byte // visible, for a mask of F16
}

// hostSpan is the host's side of the inputs, kept so that a frame allocates nothing.
type hostSpan struct {
	positions []int32
	slots     []int64
	places    []int64
}

// FixedSpan extends the first lane at the slots from at on, the same in every run of the graph. Queries see the slots
// up to their own.
func (c *Cache) FixedSpan(b *ggml.Builder, at, n int) *Span { return c.FixedSpanOf(b, 0, 1, at, n) }

// FixedSpanOf is FixedSpan for some lanes.
func (c *Cache) FixedSpanOf(b *ggml.Builder, lane, lanes, at, n int) *Span {
	s := c.span(b, lane, lanes, n, at+n)
	s.at = at
	if n > 1 {
		s.input(b, 1)
	}
	return s
}

// Span extends the first lane at slots that are set before each run, and sees the first window slots through a mask.
func (c *Cache) Span(b *ggml.Builder, n, window int) *Span { return c.SpanOf(b, 1, n, window) }

// SpanOf is Span for the first lanes.
func (c *Cache) SpanOf(b *ggml.Builder, lanes, n, window int) *Span {
	s := c.span(b, 0, lanes, n, window)
	s.at = -1
	s.input(b, lanes)
	columns, channels := n*lanes, c.keys[0].Dim(0)
	s.slots, s.host.slots = b.Input("slots", ggml.I64, columns), make([]int64, columns)
	if !c.flash {
		s.places, s.host.places = b.Input("places", ggml.I64, columns*channels), make([]int64, columns*channels)
	}
	return s
}

func (c *Cache) span(b *ggml.Builder, lane, lanes, n, window int) *Span {
	return &Span{b: b, cache: c, n: n, window: window, lane: lane, lanes: lanes, Positions: b.Input("positions", ggml.I32, n*lanes),
		host: hostSpan{positions: make([]int32, n*lanes)}}
}

// input declares the mask, for each lane or one for all.
func (s *Span) input(b *ggml.Builder, lanes int) {
	t := ggml.F32
	s.visible = make([]float32, s.window*s.n*lanes)
	if s.cache.flash {
		t, s.halves = ggml.F16, make([]byte, 2*len(s.visible))
	}
	s.Mask = b.Input("mask", t, s.window, s.n, 1, lanes)
}

// Extend stores the new keys k [D, KV, N·lanes] and values v [D·KV, N·lanes] of a layer and returns all keys
// [D·KV, slots, lanes] and values [slots, D·KV, lanes], for flash attention [D·KV, slots, lanes], of its lanes.
func (s *Span) Extend(layer int, k, v ggml.Tensor) (keys, values ggml.Tensor) {
	kc, vc := s.b.Use(s.cache.keys[layer]), s.b.Use(s.cache.values[layer])
	channels, slots := kc.Dim(0), kc.Dim(1)
	switch {
	case s.at >= 0:
		kc, vc = kc.Slice(2, s.lane, s.lanes), vc.Slice(2, s.lane, s.lanes)
		k, v = k.Reshape(channels, s.n, s.lanes), v.Reshape(channels, s.n, s.lanes)
		k.CopyTo(kc.Slice(1, s.at, s.n))
		if s.cache.flash {
			v.CopyTo(vc.Slice(1, s.at, s.n))
		} else {
			v.Transpose().CopyTo(vc.Slice(0, s.at, s.n))
		}
	case s.cache.flash:
		kc, vc = s.setRows(kc, k), s.setRows(vc, v)
	default:
		kc = s.setRows(kc, k)
		column := v.Reshape(1, v.Elements()) // each value is a row of its own
		vc = column.SetRows(vc.Reshape(1, vc.Elements()), s.places).Reshape(slots, channels, vc.Dim(2))
		vc = vc.Slice(2, 0, s.lanes)
	}
	return kc, vc
}

// Visible views what Extend returns as keys [D, T, KV, lanes] and values [T, D, KV, lanes], for flash attention
// [D, T, KV, lanes], in the window.
func (s *Span) Visible(kc, vc ggml.Tensor) (keys, values ggml.Tensor) {
	kv := kc.Dim(0) / s.cache.head
	keys = kc.Slice(1, 0, s.window).SplitDim(0, kv).Permute(0, 2, 1, 3) // [D, KV, T, lanes] -> [D, T, KV, lanes]
	if s.cache.flash {
		return keys, vc.Slice(1, 0, s.window).SplitDim(0, kv).Permute(0, 2, 1, 3)
	}
	return keys, vc.Slice(0, 0, s.window).SplitDim(1, kv) // [T, D, KV, lanes]
}

// setRows writes the columns of x [D·KV, N·lanes], or as many, to their slots in a cache of rows [D·KV, slots, all lanes]
// and returns the span's lanes of it.
func (s *Span) setRows(cache, x ggml.Tensor) ggml.Tensor {
	channels, slots, all := cache.Dim(0), cache.Dim(1), cache.Dim(2)
	x = x.Reshape(channels, s.n*s.lanes)
	cache = x.SetRows(cache.Reshape(channels, slots*all), s.slots).Reshape(channels, slots, all)
	return cache.Slice(2, 0, s.lanes)
}

// SetFixed uploads the inputs of a FixedSpan; once is enough.
func (s *Span) SetFixed() {
	for i := range s.host.positions {
		s.host.positions[i] = int32(s.at + i%s.n)
	}
	s.Positions.SetI32(s.host.positions)
	if s.Mask.Valid() {
		s.setMask(0, func(q, slot int) bool { return slot <= s.at+q })
		s.uploadMask()
	}
}

func (s *Span) uploadMask() {
	if s.halves == nil {
		s.Mask.SetF32(s.visible)
		return
	}
	half.EncodeF16(s.halves, s.visible)
	s.Mask.SetBytes(s.halves)
}

// Set uploads the inputs of a Span for the positions from first on, in a cache that is a ring if the positions outgrow
// it. Queries see themselves and the reach-1 positions before.
func (s *Span) Set(first, reach int) {
	s.setLane(0, first, reach)
	s.upload()
}

// SetLanes uploads the inputs of a SpanOf: lane i goes on at position first[i], and sees all that it has seen.
func (s *Span) SetLanes(first []int) {
	for i, pos := range first[:s.lanes] {
		s.setLane(i, pos, pos+s.n)
	}
	s.upload()
}

func (s *Span) upload() {
	s.Positions.SetI32(s.host.positions)
	s.slots.SetI64(s.host.slots)
	if s.places.Valid() {
		s.places.SetI64(s.host.places)
	}
	s.uploadMask()
}

func (s *Span) setLane(lane, first, reach int) {
	channels, slots := s.cache.keys[0].Dim(0), s.cache.slots
	for i := range s.n {
		pos := first + i
		slot, column := pos%slots, lane*s.n+i
		s.host.positions[column], s.host.slots[column] = int32(pos), int64(lane*slots+slot)
		if s.places.Valid() {
			for c := range channels {
				s.host.places[column*channels+c] = int64((lane*channels+c)*slots + slot)
			}
		}
	}
	last := first + s.n - 1
	s.setMask(lane, func(q, slot int) bool {
		pos := last - mod(last-slot, slots) // the newest position that this slot can hold
		return pos >= 0 && pos <= first+q && pos > first+q-reach
	})
}

func mod(a, m int) int { return ((a % m) + m) % m }

var negInf = float32(math.Inf(-1))

// setMask fills in what the queries of a lane see.
func (s *Span) setMask(lane int, sees func(q, slot int) bool) {
	for q := range s.n {
		row := s.visible[(lane*s.n+q)*s.window:][:s.window]
		for slot := range row {
			row[slot] = negInf
			if sees(q, slot) {
				row[slot] = 0
			}
		}
	}
}
