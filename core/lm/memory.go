package lm

import (
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// CacheBytes are the keys and values of a synthesis of so many positions (prompt and frames), as the models of a file
// keep them, in a wanted type or nil: room grows by doubling.
func CacheBytes(f *gguf.File, c Config, positions int, wanted *ggml.Type) uint64 {
	predictor, talker := cacheTypes(f, wanted)
	return stackBytes(c.Talker, room(positions), talker) + stackBytes(c.Predictor, c.Codebooks, predictor)
}

func stackBytes(s StackConfig, slots int, keys ggml.Type) uint64 {
	n := uint64(s.Layers) * uint64(s.KVHeads*s.HeadDim) * uint64(slots)
	return typeBytes(n, keys) + typeBytes(n, s.ValueType(keys))
}

func typeBytes(n uint64, t ggml.Type) uint64 {
	return n * uint64(t.BlockBytes()) / uint64(t.BlockSize())
}

// GraphBytes estimates the intermediate results of a synthesis of so many positions: those of a piece of the prompt,
// with the scores of attention and the embedding of the text, are the most. With flash attention there are no scores, but
// a device may bring the keys and values of a layer to half precision.
func GraphBytes(c Config, positions int) uint64 {
	t := c.Talker
	row := 6*t.Width + 3*t.FFN + 3*t.Heads*t.HeadDim + 2*c.TextWidth
	if t.Flash {
		return 4*uint64(prefillChunk)*uint64(row) + 2*2*uint64(t.KVHeads*t.HeadDim)*uint64(room(positions))
	}
	return 4 * uint64(prefillChunk) * uint64(row+t.Heads*room(positions))
}

// room is the smallest power of two of slots, from minSlots on, that holds n positions.
func room(n int) int {
	slots := minSlots
	for slots < n {
		slots *= 2
	}
	return slots
}
