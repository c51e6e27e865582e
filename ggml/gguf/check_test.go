package gguf

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// single is a file of one tensor with the given row length, type and data.
func single(t *testing.T, typ Type, n int, data []byte) (*File, *TensorInfo) {
	b := header(1, 0).tensor("w", typ, 0, uint64(n)).pad(32)
	f, err := Parse(append(b, data...))
	require.NoError(t, err)
	return f, f.Tensor("w")
}

func TestCheckFinitePlain(t *testing.T) {
	for typ, bad := range map[Type][]uint32{
		F32:  {0x7f800000, 0xff800000, 0x7fc00000, 0xff800001},
		F16:  {0x7c00, 0xfc00, 0x7e00, 0xfc01},
		BF16: {0x7f80, 0xff80, 0x7fc0, 0xff81},
	} {
		largest := map[Type]uint32{F32: 0xff7fffff, F16: 0xfbff, BF16: 0xff7f}[typ]
		width := typ.BlockBytes()
		for _, n := range []int{1, 2, 3, 7, 1023, 5000} {
			data := make([]byte, n*width)
			put := func(i int, x uint32) {
				if width == 4 {
					binary.LittleEndian.PutUint32(data[4*i:], x)
				} else {
					binary.LittleEndian.PutUint16(data[2*i:], uint16(x))
				}
			}
			for i := range n {
				put(i, largest)
			}
			f, w := single(t, typ, n, data)
			require.NoError(t, f.CheckFinite(w), "%v: the largest values are finite", typ)
			for _, at := range []int{0, n / 2, n - 1} {
				for _, x := range bad {
					put(at, x)
					f, w := single(t, typ, n, data)
					err := f.CheckFinite(w)
					assert.ErrorIs(t, err, ErrFormat)
					assert.EqualError(t, err, "w: element "+itoa(at)+" is not finite")
					put(at, largest)
				}
			}
		}
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func TestCheckFiniteQuantised(t *testing.T) {
	for typ := range Type(len(layouts)) {
		for _, at := range layouts[typ].scales {
			data := make([]byte, 3*typ.BlockBytes())
			for i := range data {
				data[i] = 0x7b // finite as a scale, wherever it is
			}
			f, w := single(t, typ, 3*typ.BlockSize(), data)
			require.NoError(t, f.CheckFinite(w), "%v", typ)
			binary.LittleEndian.PutUint16(data[2*typ.BlockBytes()+at:], 0xfc00)
			f, w = single(t, typ, 3*typ.BlockSize(), data)
			assert.EqualError(t, f.CheckFinite(w), "w: scale of block 2 is not finite", "%v", typ)
		}
	}
	f, w := single(t, I32, 2, []byte{255, 255, 255, 255, 0, 0, 0x80, 0x7f})
	assert.NoError(t, f.CheckFinite(w), "integers are finite")
}

func TestAllZero(t *testing.T) {
	for typ := range Type(len(layouts)) {
		if !typ.Known() {
			continue
		}
		n := 3 * typ.BlockSize()
		data := make([]byte, 3*typ.BlockBytes())
		f, w := single(t, typ, n, data)
		assert.True(t, f.AllZero(w), "%v", typ)
		at := len(data) - typ.BlockBytes() // something in the last block
		for _, s := range layouts[typ].scales {
			at = len(data) - typ.BlockBytes() + s
		}
		data[at] = 1
		if typ == Q8_0 {
			data[len(data)-1] = 1
		}
		f, w = single(t, typ, n, data)
		assert.False(t, f.AllZero(w), "%v", typ)
	}
	zero := binary.LittleEndian.AppendUint32(make([]byte, 8), math.Float32bits(float32(math.Copysign(0, -1))))
	f, w := single(t, F32, 3, zero)
	assert.True(t, f.AllZero(w), "-0 is zero")

	block := make([]byte, 34)
	block[0] = 1
	f, w = single(t, Q8_0, 32, block)
	assert.True(t, f.AllZero(w), "a scale with nothing to scale")
	block[0], block[33] = 0, 1
	f, w = single(t, Q8_0, 32, block)
	assert.True(t, f.AllZero(w), "numbers scaled by nothing")
}

func BenchmarkCheckFinite(b *testing.B) {
	for _, typ := range []Type{F32, F16, Q8_0, Q4_K} {
		b.Run(typ.String(), func(b *testing.B) {
			n := 1 << 20
			data := make([]byte, n/typ.BlockSize()*typ.BlockBytes())
			f, err := Parse(append(header(1, 0).tensor("w", typ, 0, uint64(n)).pad(32), data...))
			require.NoError(b, err)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				_ = f.CheckFinite(f.Tensor("w"))
			}
		})
	}
}
