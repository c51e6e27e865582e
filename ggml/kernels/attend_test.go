package kernels_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/half"
	"github.com/libqwen/libqwen/internal/testenv"
)

// attention is a problem for Attend: q [lanes][heads][head], k [lanes][slots][kv][head], v [lanes][kv][head][slots], and
// how many of each lane's slots are seen; the others hold what must not matter.
type attention struct {
	head, heads, kv, slots, window, lanes int
	typ                                   ggml.Type
	masked                                bool
	seen                                  []int
	q, k, v                               []float32
}

func newAttention(r *rand.Rand, a attention) *attention {
	fill := func(n int, scale float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = half.FromF16(half.F16(float32(scale * r.NormFloat64())))
		}
		return x
	}
	a.q = fill(a.lanes*a.heads*a.head, 2)
	a.k, a.v = fill(a.lanes*a.slots*a.kv*a.head, 1), fill(a.lanes*a.slots*a.kv*a.head, 1)
	for range a.lanes {
		n := a.window
		if a.masked {
			n = 1 + r.IntN(a.window)
		}
		a.seen = append(a.seen, n)
	}
	return &a
}

// want is the definition, in double precision.
func (a *attention) want() []float64 {
	var y []float64
	for l := range a.lanes {
		for h := range a.heads {
			g := h / (a.heads / a.kv)
			q := a.q[(l*a.heads+h)*a.head:][:a.head]
			weights, sum := make([]float64, a.seen[l]), 0.0
			for t := range weights {
				dot := 0.0
				for d, x := range a.k[((l*a.slots+t)*a.kv+g)*a.head:][:a.head] {
					dot += float64(x) * float64(q[d])
				}
				weights[t] = math.Exp(dot / math.Sqrt(float64(a.head)))
				sum += weights[t]
			}
			for d := range a.head {
				x := 0.0
				for t, w := range weights {
					x += w * float64(a.v[((l*a.kv+g)*a.head+d)*a.slots+t])
				}
				y = append(y, x/sum)
			}
		}
	}
	return y
}

func (a *attention) bytes(x []float32) []byte {
	if a.typ == gguf.F16 {
		b := make([]byte, 2*len(x))
		half.EncodeF16(b, x)
		return b
	}
	b, _ := binary.Append(nil, binary.LittleEndian, x)
	return b
}

// compute is Attend.
func (a *attention) compute(t *testing.T, be *ggml.Backend) []float32 {
	if !kernels.CanAttend(be, a.head, a.heads, a.kv, a.typ, a.typ) {
		t.Skip("there is no kernel for this processor")
	}
	var q, k, v, mask, y ggml.Tensor
	g, err := ggml.Build(be, 16, false, func(b *ggml.Builder) {
		q = b.Input("q", ggml.F32, a.head, a.heads, a.lanes)
		k = b.Input("k", a.typ, a.head*a.kv, a.slots, a.lanes)
		v = b.Input("v", a.typ, a.slots, a.head*a.kv, a.lanes)
		if a.masked {
			mask = b.Input("mask", ggml.F32, a.window, 1, 1, a.lanes)
		}
		y = b.Output("y", kernels.Attend(q, k, v, mask, a.window))
	})
	require.NoError(t, err)
	defer g.Free()
	q.SetF32(a.q)
	k.SetBytes(a.bytes(a.k))
	v.SetBytes(a.bytes(a.v))
	if a.masked {
		visible := make([]float32, a.window*a.lanes)
		for i := range visible {
			if i%a.window >= a.seen[i/a.window] {
				visible[i] = float32(math.Inf(-1))
			}
		}
		mask.SetF32(visible)
	}
	require.NoError(t, g.Compute())
	out := make([]float32, y.Elements())
	y.GetF32(out)
	return out
}

func TestAttend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, a := range []attention{
		{head: 128, heads: 16, kv: 8, slots: 16, window: 3, lanes: 1},
		{head: 128, heads: 16, kv: 8, slots: 16, window: 16, lanes: 3},
		{head: 64, heads: 4, kv: 4, slots: 128, window: 128, lanes: 1, masked: true},
		{head: 16, heads: 8, kv: 2, slots: 300, window: 200, lanes: 2, masked: true},
		{head: 256, heads: 8, kv: 1, slots: 65, window: 65, lanes: 5, masked: true},
	} {
		for _, a.typ = range []ggml.Type{ggml.F32, gguf.F16} {
			t.Run(fmt.Sprintf("%d heads of %d, %d slots, %v", a.heads, a.head, a.window, a.typ), func(t *testing.T) {
				a := newAttention(r, a)
				got := a.compute(t, testenv.CPU(t, 1))
				for i, want := range a.want() {
					require.InDelta(t, want, got[i], 2e-6, i)
				}
				assert.Equal(t, got, a.compute(t, testenv.CPU(t, 2)), "threads")
			})
		}
	}
}

// TestWhatIsHiddenDoesNotMatter: neither a wider window nor what lies in hidden slots changes a bit.
func TestWhatIsHiddenDoesNotMatter(t *testing.T) {
	be := testenv.CPU(t, 1)
	a := newAttention(rand.New(rand.NewPCG(3, 4)), attention{head: 64, heads: 4, kv: 2, slots: 256, window: 128, lanes: 1, typ: gguf.F16, masked: true})
	a.seen[0] = 77
	want := a.compute(t, be)
	a.window = 256
	assert.Equal(t, want, a.compute(t, be), "the window")
	inf := float32(math.Inf(1))
	for i := range a.k {
		if i/(a.kv*a.head) >= 77 {
			a.k[i] = inf
		}
		if i%a.slots >= 77 {
			a.v[i] = inf
		}
	}
	assert.Equal(t, want, a.compute(t, be), "hidden slots")
}

// TestAttendExtremes: scores far apart are weights of one and zero; what is no number makes the result none.
func TestAttendExtremes(t *testing.T) {
	be := testenv.CPU(t, 1)
	a := newAttention(rand.New(rand.NewPCG(5, 6)), attention{head: 16, heads: 1, kv: 1, slots: 200, window: 200, lanes: 1, typ: ggml.F32})
	for i := range a.q {
		a.q[i], a.k[150*16+i] = 1e4, 1e4
	}
	got := a.compute(t, be)
	for d := range got {
		assert.Equal(t, a.v[d*200+150], got[d])
	}
	a.q[3] = float32(math.NaN())
	for _, x := range a.compute(t, be) {
		assert.True(t, math.IsNaN(float64(x)))
	}
}
