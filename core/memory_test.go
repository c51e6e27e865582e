package core

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestMemoryIsPlanned: a wish that cannot be met is refused with the figures, and without one the context is cut.
func TestMemoryIsPlanned(t *testing.T) {
	f, err := model.Open(golden.GGUF(t, "tiny-customvoice-17", "F32"), lm.Architecture, "talker")
	require.NoError(t, err)
	defer f.Close()
	config, err := lm.ReadConfig(f)
	require.NoError(t, err)
	plan := func(batch, context int) (memoryPlan, error) {
		e := &Engine{opts: Options{MaxBatch: batch, Context: context}, lm: &lm.Model{Config: config}, be: testenv.CPU(t, 1)}
		return e.planMemory(f, 0)
	}
	p, err := plan(1, 0)
	require.NoError(t, err)
	assert.Equal(t, config.Context, p.positions)
	assert.Positive(t, p.available)

	eight, err := plan(8, 100)
	require.NoError(t, err)
	one, err := plan(1, 100)
	require.NoError(t, err)
	assert.Equal(t, 8*one.total(), eight.total())

	_, err = plan(maxBatch, config.Context)
	assert.ErrorIs(t, err, ErrMemory)
	assert.ErrorContains(t, err, "max_batch")
	assert.ErrorContains(t, err, "1024 at a time of up to")
	assert.ErrorContains(t, err, "are available")

	many := int(p.available/(3*codecBytes)) * 2 // a third is left for the caches
	cut, err := plan(many, 0)
	require.NoError(t, err)
	assert.LessOrEqual(t, cut.total(), cut.available)
	assert.GreaterOrEqual(t, cut.positions, fewestPositions)
}

// TestKVTypes: each kind speaks; others are refused.
func TestKVTypes(t *testing.T) {
	for _, kind := range []string{"", "auto", "f32", "F16", "q8_0"} {
		e, err := Open(Options{TalkerPath: golden.GGUF(t, "tiny-customvoice-17", "F32"), CodecPath: golden.GGUF(t, "tiny-tokenizer-12hz", "F32"),
			Threads: 1, GGMLDir: testenv.GGMLDir(t), KVType: kind})
		require.NoError(t, err, kind)
		r := e.DefaultRequest()
		r.Text, r.Speaker, r.MaxFrames = "Hello.", "vivian", 4
		_, err = e.Synthesize(t.Context(), &r, func([]float32) error { return nil })
		assert.NoError(t, err, kind)
		require.NoError(t, e.Close())
	}
	_, err := Open(Options{TalkerPath: "a", CodecPath: "b", KVType: "q4_0"})
	assert.ErrorIs(t, err, ErrInvalid)
	assert.ErrorContains(t, err, "kv_type")
}
