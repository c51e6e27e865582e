package nn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/testenv"
)

// two heads of two channels share one key head.
var config = nn.AttentionConfig{Heads: 2, KVHeads: 1, HeadDim: 2, RopeBase: 10000, Eps: 1e-6}

// extended is what a span's queries would see: keys [D, T, KV] and values [T, D, KV] in rows.
type extended struct {
	span         *nn.Span
	graph        *ggml.Graph
	k, v         ggml.Tensor
	keys, values ggml.Tensor
}

func extend(t *testing.T, be *ggml.Backend, span func(b *ggml.Builder) *nn.Span, n int) *extended {
	t.Helper()
	e := &extended{}
	var err error
	e.graph, err = ggml.Build(be, 64, false, func(b *ggml.Builder) {
		e.k, e.v = b.Input("k", ggml.F32, 2, 1, n), b.Input("v", ggml.F32, 2, n)
		e.span = span(b)
		keys, values := e.span.Visible(e.span.Extend(0, e.k, e.v))
		e.keys, e.values = b.Output("keys", keys.Cont()), b.Output("values", values.Cont())
	})
	require.NoError(t, err)
	t.Cleanup(e.graph.Free)
	return e
}

func floats(x ggml.Tensor) []float32 {
	v := make([]float32, x.Elements())
	x.GetF32(v)
	return v
}

func TestARingKeepsTheNewestPositions(t *testing.T) {
	be := testenv.CPU(t, 1)
	c, err := nn.NewCache(be, 1, 4, ggml.F32, config)
	require.NoError(t, err)
	t.Cleanup(c.Free)
	e := extend(t, be, func(b *ggml.Builder) *nn.Span { return c.Span(b, 1, 4) }, 1)
	for pos := range 6 {
		e.k.SetF32([]float32{float32(pos), -float32(pos)})
		e.v.SetF32([]float32{float32(10 * pos), float32(100 * pos)})
		e.span.Set(pos, 3)
		require.NoError(t, e.graph.Compute())
	}
	// Slots hold positions 4, 5, 2, 3; position 5 sees itself and the two before.
	assert.Equal(t, []float32{4, -4, 5, -5, 2, -2, 3, -3}, floats(e.keys))
	assert.Equal(t, []float32{40, 50, 20, 30, 400, 500, 200, 300}, floats(e.values))
	seen := floats(e.span.Mask)
	assert.Zero(t, seen[0])
	assert.Zero(t, seen[1])
	assert.Less(t, seen[2], float32(-1e30), "position 2 is out of reach")
	assert.Zero(t, seen[3])
}

func TestAFixedSpanEqualsOneThatIsSet(t *testing.T) {
	be := testenv.CPU(t, 1)
	k, v := []float32{1, 2, 3, 4, 5, 6}, []float32{10, 20, 30, 40, 50, 60}
	var results [2][2][]float32
	for i := range results {
		c, err := nn.NewCache(be, 1, 8, ggml.F16, config)
		require.NoError(t, err)
		t.Cleanup(c.Free)
		var e *extended
		if i == 0 {
			e = extend(t, be, func(b *ggml.Builder) *nn.Span { return c.FixedSpan(b, 2, 3) }, 3)
			e.span.SetFixed()
		} else {
			e = extend(t, be, func(b *ggml.Builder) *nn.Span { return c.Span(b, 3, 5) }, 3)
			e.span.Set(2, 5)
		}
		e.k.SetF32(k)
		e.v.SetF32(v)
		require.NoError(t, e.graph.Compute())
		results[i] = [2][]float32{floats16(e.keys), floats16(e.values)}
		assert.Equal(t, floats(e.span.Mask)[:5], []float32{0, 0, 0, floats(e.span.Mask)[3], floats(e.span.Mask)[3]})
	}
	assert.Equal(t, results[0], results[1])
}

// floats16 gives the bytes of a half-precision tensor as numbers, for comparing.
func floats16(x ggml.Tensor) []float32 {
	b := make([]byte, 2*x.Elements())
	x.GetBytes(b)
	v := make([]float32, len(b))
	for i := range b {
		v[i] = float32(b[i])
	}
	return v
}

func TestAGrownCacheKeepsItsPositions(t *testing.T) {
	be := testenv.CPU(t, 1)
	small, err := nn.NewCache(be, 1, 4, ggml.F32, config)
	require.NoError(t, err)
	e := extend(t, be, func(b *ggml.Builder) *nn.Span { return small.FixedSpan(b, 0, 3) }, 3)
	e.span.SetFixed()
	e.k.SetF32([]float32{1, 2, 3, 4, 5, 6})
	e.v.SetF32([]float32{10, 20, 30, 40, 50, 60})
	require.NoError(t, e.graph.Compute())

	large, err := nn.NewCache(be, 1, 16, ggml.F32, config)
	require.NoError(t, err)
	t.Cleanup(large.Free)
	large.CopyLane(0, small, 0, 3)
	small.Free()
	e = extend(t, be, func(b *ggml.Builder) *nn.Span { return large.FixedSpan(b, 3, 1) }, 1)
	e.span.SetFixed()
	e.k.SetF32([]float32{7, 8})
	e.v.SetF32([]float32{70, 80})
	require.NoError(t, e.graph.Compute())
	assert.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, floats(e.keys))
	assert.Equal(t, []float32{10, 30, 50, 70, 20, 40, 60, 80}, floats(e.values))
}
