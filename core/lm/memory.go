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

func stackBytes(s StackConfig, slots int, t ggml.Type) uint64 {
	n := uint64(s.Layers) * uint64(s.KVHeads*s.HeadDim) * uint64(slots)
	if t == gguf.Q8_0 { // the values have half precision
		return n*uint64(t.BlockBytes())/uint64(t.BlockSize()) + 2*n
	}
	return 2 * n * uint64(t.BlockBytes())
}

// GraphBytes estimates the intermediate results of a synthesis of so many positions: those of a piece of the prompt,
// with the scores of attention and the embedding of the text, are the most.
func GraphBytes(c Config, positions int) uint64 {
	t := c.Talker
	row := 6*t.Width + 3*t.FFN + 3*t.Heads*t.HeadDim + t.Heads*room(positions) + 2*c.TextWidth
	return 4 * uint64(prefillChunk) * uint64(row)
}

// room is the smallest power of two of slots, from minSlots on, that holds n positions.
func room(n int) int {
	slots := minSlots
	for slots < n {
		slots *= 2
	}
	return slots
}
