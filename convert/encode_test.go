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

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// recode brings rows of 32 values from one plain type to another, in pieces.
func recode(data []byte, from, to gguf.Type) ([]byte, error) {
	var out bytes.Buffer
	s := &Step{Name: "w", Shape: []int64{32, int64(len(data)) / 32 / int64(from.BlockBytes())}, From: from, To: to}
	err := newQuantizer(2, func([]byte) {}).encode(context.Background(), &out, data, s)
	return out.Bytes(), err
}

func f32s(x ...float32) []byte {
	data := make([]byte, 4*len(x))
	half.EncodeF32(data, x)
	return data
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

// TestRecodePlainTypes: more than a piece of each thread.
func TestRecodePlainTypes(t *testing.T) {
	x := make([]float32, 5*pieceSize+64)
	for i := range x {
		x[i] = float32(i%1000)/64 - 7
	}
	encode := func(x []float32, typ gguf.Type) []byte {
		data := make([]byte, len(x)/typ.BlockSize()*typ.BlockBytes())
		require.NoError(t, narrow(data, x, typ, 32))
		return data
	}
	for _, from := range []gguf.Type{gguf.F32, gguf.F16, gguf.BF16} {
		source := encode(x, from)
		values := make([]float32, len(x))
		require.NoError(t, ggml.Dequantize(from, values, source))
		for _, to := range []gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0} {
			got, err := recode(source, from, to)
			require.NoError(t, err)
			require.True(t, bytes.Equal(encode(values, to), got), "%v to %v", from, to)
		}
	}
}

func TestValuesThatATypeCannotHold(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	row := func(x float32) []byte { return f32s(append(make([]float32, 31), x)...) }
	for _, c := range []struct {
		typ  gguf.Type
		data []byte
		want string
	}{
		{gguf.F32, row(nan), "element 31 or its scale is not finite"},
		{gguf.BF16, row(nan), "element 31 is NaN, which BF16 cannot hold"},
		{gguf.F16, row(inf), "element 31 is -Inf"},
		{gguf.F16, row(65520), "element 31 is 65520, which F16 cannot hold"},
		{gguf.BF16, row(math.MaxFloat32), "which BF16 cannot hold"},
		{gguf.Q8_0, row(-1e9), "element 31 is -1e+09, which Q8_0 cannot hold"},
	} {
		_, err := recode(c.data, gguf.F32, c.typ)
		assert.ErrorIs(t, err, ErrInput)
		assert.ErrorContains(t, err, c.want)
	}
	for _, x := range []float32{65519, -65519} {
		got, err := recode(row(x), gguf.F32, gguf.F16)
		require.NoError(t, err)
		assert.Equal(t, uint16(0x7bff), binary.LittleEndian.Uint16(got[62:])&0x7fff)
	}
}
