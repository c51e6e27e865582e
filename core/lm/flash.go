package lm

import (
	"fmt"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// longWindow is the widest window that a device is asked about.
const longWindow = 1 << 15

// attention decides for each stack whether it has flash attention: on a device that has it for all spans that the sessions
// use, with keys and values of the types of the two caches. The CPU has it, too, but is slower that way.
func (c *Config) attention(be *ggml.Backend, talker, predictor ggml.Type, opts Options) {
	if be == nil {
		return
	}
	c.Talker.Kernel, c.Predictor.Kernel = c.Talker.CanKernel(be, talker), c.Predictor.CanKernel(be, predictor)
	if opts.NoFlash || be.Host() && !opts.flashOnCPU {
		return
	}
	c.Talker.Flash, c.Predictor.Flash = true, true
	for _, slots := range []int{minSlots, min(room(c.Context), longWindow)} {
		for _, lanes := range []int{1, 2} {
			c.Talker.Flash = c.Talker.Flash && c.Talker.CanFlash(be, talker, slots, lanes, talkerSpans(lanes, slots)...)
		}
	}
	for _, lanes := range []int{1, 2} {
		c.Predictor.Flash = c.Predictor.Flash && c.Predictor.CanFlash(be, predictor, c.Codebooks, lanes, predictorSpans(lanes, c.Codebooks)...)
	}
}

type spanOf = func(*nn.Cache, *ggml.Builder) *nn.Span

// talkerSpans are a whole piece of a prompt, its last position, and a frame.
func talkerSpans(lanes, slots int) []spanOf {
	return []spanOf{
		func(k *nn.Cache, b *ggml.Builder) *nn.Span { return k.FixedSpan(b, 0, prefillChunk) },
		func(k *nn.Cache, b *ggml.Builder) *nn.Span { return k.FixedSpan(b, prefillChunk, 1) },
		func(k *nn.Cache, b *ggml.Builder) *nn.Span { return k.SpanOf(b, lanes, 1, slots) },
	}
}

// predictorSpans are the first two positions, and the last.
func predictorSpans(lanes, slots int) []spanOf {
	return []spanOf{
		func(k *nn.Cache, b *ggml.Builder) *nn.Span { return k.FixedSpanOf(b, 0, lanes, 0, 2) },
		func(k *nn.Cache, b *ggml.Builder) *nn.Span { return k.FixedSpanOf(b, 0, lanes, slots-1, 1) },
	}
}

// checkCache refuses a type of keys and values that the model or the device cannot keep. Without flash attention only
// the CPU multiplies by keys in Q8_0.
func checkCache(be *ggml.Backend, c Config, wanted *ggml.Type) error {
	if wanted == nil || *wanted != gguf.Q8_0 {
		return nil
	}
	if block := gguf.Q8_0.BlockSize(); c.Talker.HeadDim%block != 0 {
		return fmt.Errorf("%w: Q8_0 needs heads of a multiple of %d channels, this model's have %d", ErrCache, block, c.Talker.HeadDim)
	}
	if !be.Host() && !c.Talker.Flash {
		return fmt.Errorf("%w: Q8_0 is for the CPU, and for devices that have flash attention for it: %s has not, or it is turned off", ErrCache, be.Name)
	}
	return nil
}
