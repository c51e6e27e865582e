package convert

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// encodeAs converts the tensor "w" of a checkpoint with the given tensors.
func encodeAs(t *testing.T, typ gguf.Type, w weight, tensors ...tensor) ([]byte, error) {
	c, err := checkpointOf(t, map[string][]byte{weightsFile: pack(t, tensors...)})
	require.NoError(t, err)
	var out bytes.Buffer
	err = newEncoder().encode(context.Background(), &out, c, w, typ)
	return out.Bytes(), err
}

// Q8_0 by its definition in float64: each q is the integer nearest to x/d within the error of ggml's float32 product.
func TestQuantizeQ8(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var x [32]float32
		scale := math.Pow(10, rng.Float64()*8-4)
		for i := range x {
			x[i] = float32(rng.NormFloat64() * scale)
		}
		out := make([]byte, 34)
		quantizeQ8(out, x[:])
		top := 0.0
		for _, v := range x {
			top = max(top, math.Abs(float64(v)))
		}
		require.Equal(t, half.F16(float32(top)/127), binary.LittleEndian.Uint16(out))
		for i, v := range x {
			q := float64(int8(out[2+i]))
			require.LessOrEqual(t, math.Abs(q-float64(v)/(top/127)), 0.5+1e-4, "%g of %g", v, top)
		}
	}
}

func TestQuantizeQ8Exactly(t *testing.T) {
	x := make([]float32, 96)
	x[0], x[1], x[2], x[3], x[4], x[5] = 127, 0.5, -0.5, 1.5, 2.5, 0.49999997 // d = 1: halves away from zero
	x[32] = 1e-40                                                             // the scale vanishes
	out := make([]byte, 3*34)
	quantizeQ8(out, x)
	assert.Equal(t, []byte{0x00, 0x3c, 127, 1, 0xff, 2, 3, 0}, out[:8])
	assert.Equal(t, make([]byte, 26+34+34), out[8:], "zeros stay zeros")
}

func TestEncodeTypes(t *testing.T) {
	x := make([]float32, chunk+64) // more than a piece
	for i := range x {
		x[i] = float32(i%1000)/64 - 7
	}
	n := int64(len(x)) / 32
	bf16 := tensor{"w", "BF16", []int64{n, 32}, make([]byte, 2*len(x))}
	half.EncodeBF16(bf16.data, x)
	f16 := tensor{"w", "F16", []int64{n, 32}, make([]byte, 2*len(x))}
	half.EncodeF16(f16.data, x)
	for _, source := range []tensor{f32("w", x, n, 32), bf16, f16} {
		values := make([]float32, len(x))
		switch source.dtype {
		case "F32":
			half.DecodeF32(values, source.data)
		case "BF16":
			half.DecodeBF16(values, source.data)
		case "F16":
			half.DecodeF16(values, source.data)
		}
		for _, typ := range []gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0} {
			got, err := encodeAs(t, typ, weight{src: "w", shape: source.shape}, source)
			require.NoError(t, err)
			want := make([]byte, len(x)/typ.BlockSize()*typ.BlockBytes())
			switch typ {
			case gguf.F32:
				half.EncodeF32(want, values)
			case gguf.F16:
				half.EncodeF16(want, values)
			case gguf.BF16:
				half.EncodeBF16(want, values)
			case gguf.Q8_0:
				quantizeQ8(want, values)
			}
			require.True(t, bytes.Equal(want, got), "%s to %v", source.dtype, typ)
		}
	}
}

func TestEncodeCodebook(t *testing.T) {
	sums, usage := f32("sum", []float32{1, 2, 3, 4, 5e-5, 6}, 3, 2), f32("usage", []float32{2, 3, 0}, 3)
	got, err := encodeAs(t, gguf.F32, weight{src: "sum", usage: "usage", shape: []int64{3, 2}}, sums, usage)
	require.NoError(t, err)
	values := make([]float32, 6)
	half.DecodeF32(values, got)
	third, least := float32(3), float32(1e-5)
	assert.Equal(t, []float32{0.5, 1, 1, 4 / third, 5e-5 / least, 6 / least}, values)
}

func TestEncodeErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	row := func(x float32) tensor { return f32("w", append(make([]float32, 31), x), 1, 32) }
	for _, c := range []struct {
		typ  gguf.Type
		w    tensor
		want string
	}{
		{gguf.F32, row(nan), "w: element 31 is NaN, which F32 cannot hold"},
		{gguf.F32, row(inf), "w: element 31 is -Inf"},
		{gguf.F16, row(65520), "w: element 31 is 65520, which F16 cannot hold"},
		{gguf.BF16, row(math.MaxFloat32), "which BF16 cannot hold"},
		{gguf.Q8_0, row(-1e9), "w: element 31 is -1e+09, which Q8_0 cannot hold"},
		{gguf.F32, tensor{"w", "I64", []int64{1}, make([]byte, 8)}, "w: dtype I64 is not supported"},
	} {
		_, err := encodeAs(t, c.typ, weight{src: "w", shape: c.w.shape}, c.w)
		assert.ErrorIs(t, err, ErrInput)
		assert.ErrorContains(t, err, c.want)
	}
	for _, x := range []float32{65519, -65519} {
		got, err := encodeAs(t, gguf.F16, weight{src: "w", shape: []int64{1, 32}}, row(x))
		require.NoError(t, err)
		assert.Equal(t, uint16(0x7bff), binary.LittleEndian.Uint16(got[62:])&0x7fff)
	}
	_, err := encodeAs(t, gguf.F32, weight{src: "w", usage: "u", shape: []int64{1, 1}}, f32("w", []float32{1}, 1, 1), f32("u", []float32{nan}, 1))
	assert.ErrorContains(t, err, "u: element 0 is NaN")
}
