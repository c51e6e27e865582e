package lm

import "github.com/libqwen/libqwen/ggml/gguf"

// CacheBytes are the keys and values of a synthesis of so many positions (prompt and frames), as the models of a file
// keep them: room grows by doubling.
func CacheBytes(f *gguf.File, c Config, positions int) uint64 {
	size := uint64(cacheType(f).BlockBytes())
	stack := func(s StackConfig, slots int) uint64 {
		return 2 * size * uint64(s.Layers) * uint64(s.KVHeads*s.HeadDim) * uint64(slots)
	}
	return stack(c.Talker, room(positions)) + stack(c.Predictor, c.Codebooks)
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
