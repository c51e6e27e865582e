package nn

import "github.com/libqwen/libqwen/ggml"

// flashNodes is more than the nodes of CanFlash's graph.
const flashNodes = 64

// CanFlash tells whether a device has flash attention for spans of caches of so many slots and lanes, with keys and
// values of a type, and the operations that store those. Nothing is computed.
func (c AttentionConfig) CanFlash(be *ggml.Backend, t ggml.Type, slots, lanes int, spans ...func(*Cache, *ggml.Builder) *Span) bool {
	c.Flash = true
	if c.HeadDim%t.BlockSize() != 0 {
		return false
	}
	cache := newCache(be, 1, slots, lanes, t, c)
	defer cache.Free()
	for _, span := range spans {
		can := be.Can(flashNodes, func(b *ggml.Builder) {
			s := span(cache, b)
			columns := s.n * s.lanes
			q := b.Input("q", ggml.F32, c.HeadDim, c.Heads, columns)
			k := b.Input("k", ggml.F32, c.HeadDim, c.KVHeads, columns)
			keys, values := s.Extend(0, k, b.Input("v", ggml.F32, c.HeadDim*c.KVHeads, columns))
			b.Output("y", s.attend(q, keys, values, c.HeadDim))
		})
		if !can {
			return false
		}
	}
	return true
}
