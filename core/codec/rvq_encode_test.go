package codec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newCodebook puts entries on a backend until the test ends.
func newCodebook(t *testing.T, be *ggml.Backend, entries [][]float32) *Codebook {
	t.Helper()
	arena := be.NewArena(1)
	t.Cleanup(arena.Free)
	c := &Codebook{entries: arena.New(ggml.F32, len(entries[0]), len(entries))}
	require.NoError(t, arena.Alloc())
	for i, e := range entries {
		c.entries.SetF32At(i*len(e), e)
		n := norm(e)
		c.squares, c.longest = append(c.squares, n*n), max(c.longest, n)
	}
	return c
}

func vectors(r *rand.Rand, n, width int) [][]float32 {
	list := make([][]float32, n)
	for i := range list {
		list[i] = make([]float32, width)
		for j := range list[i] {
			list[i][j] = float32(r.NormFloat64())
		}
	}
	return list
}

// closest is a plain search for the nearest entry.
func closest(entries [][]float32, x []float32) int {
	best, least := -1, math.Inf(1)
	for i, e := range entries {
		if d := squaredDistance(x, e); d < least {
			best, least = i, d
		}
	}
	return best
}

// TestNearest: however coarse the products, the entry is the one of a search in float64, and the first of several.
func TestNearest(t *testing.T) {
	be, r := testenv.CPU(t, 1), rand.New(rand.NewPCG(1, 2))
	entries := vectors(r, 300, 24)
	entries[200] = entries[100] // the same entry twice
	for i := range entries[150] {
		entries[150][i] = entries[50][i] + 1e-6 // one that F32 products hardly tell from another
	}
	c := newCodebook(t, be, entries)
	points := vectors(r, 500, 24)
	for i := range 300 {
		for j := range points[i] {
			points[i][j] = entries[i][j] + 0.3*points[i][j] // near to each entry
		}
	}
	points[0], points[1], points[2] = entries[200], entries[150], make([]float32, 24)
	entry := make([]float32, 24)
	for i, x := range points {
		dots := make([]float32, len(entries))
		for j, e := range entries {
			for k := range e {
				dots[j] += tf32(x[k]) * tf32(e[k])
			}
		}
		require.Equal(t, closest(entries, x), c.nearest(x, dots, entry), i)
	}
	assert.Equal(t, 100, closest(entries, points[0]))
	assert.Equal(t, 150, closest(entries, points[1]))
}

// tf32 cuts off what TF32 does not keep.
func tf32(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1<<13 - 1)) }

func TestQuantizeOnTheDevice(t *testing.T) {
	be, r := testenv.CPU(t, 1), rand.New(rand.NewPCG(3, 4))
	q, books := EncoderQuantizer{}, make([][][]float32, 3)
	for k := range books {
		books[k] = vectors(r, 90, 10)
		q.Codebooks = append(q.Codebooks, *newCodebook(t, be, books[k]))
	}
	for _, frames := range []int{1, 2, 7} {
		residuals, codes := vectors(r, frames, 10), make([][]int32, frames)
		want := make([][]float32, frames)
		for i := range residuals {
			want[i] = slices.Clone(residuals[i])
		}
		require.NoError(t, q.quantize(be, residuals, codes))
		for i := range codes {
			require.Len(t, codes[i], len(books))
			for k, entries := range books {
				id := closest(entries, want[i])
				assert.EqualValues(t, id, codes[i][k])
				for j, v := range entries[id] {
					want[i][j] -= v
				}
			}
			assert.Equal(t, want[i], residuals[i], "what is left")
		}
	}
	huge := [][]float32{make([]float32, 10)}
	for j := range huge[0] {
		huge[0][j] = math.MaxFloat32
	}
	assert.EqualError(t, q.quantize(be, huge, make([][]int32, 1)), "codebook 0: distances are not finite")
}
