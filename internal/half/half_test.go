package half

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// f16Value computes the value of a finite binary16 from its definition, in float64, independently of the package.
func f16Value(h uint16) float64 {
	exp, frac := int(h>>10&0x1f), float64(h&0x3ff)
	v := math.Ldexp(1+frac/1024, exp-15)
	if exp == 0 {
		v = math.Ldexp(frac, -24)
	}
	if h&0x8000 != 0 {
		v = -v
	}
	return v
}

func TestFromF16IsExact(t *testing.T) {
	for h := range 1 << 16 {
		got := FromF16(uint16(h))
		if h&0x7c00 == 0x7c00 {
			require.Equal(t, h&0x3ff != 0, math.IsNaN(float64(got)), "%#04x", h)
			require.Equal(t, h&0x3ff == 0, math.IsInf(float64(got), 0), "%#04x", h)
			require.Equal(t, h&0x8000 != 0, math.Signbit(float64(got)), "%#04x", h)
			continue
		}
		require.Equal(t, f16Value(uint16(h)), float64(got), "%#04x", h)
		require.Equal(t, h&0x8000 != 0, math.Signbit(float64(got)), "%#04x", h)
	}
}

func TestF16RoundTrips(t *testing.T) {
	for h := range 1 << 16 {
		if h&0x7c00 == 0x7c00 && h&0x3ff != 0 { // NaN: made quiet
			require.Equal(t, uint16(h|0x200), F16(FromF16(uint16(h))), "%#04x", h)
			continue
		}
		require.Equal(t, uint16(h), F16(FromF16(uint16(h))), "%#04x", h)
	}
}

// Every midpoint between neighbouring values goes to the even one, and the float32 beside it to the nearer one.
func TestF16TiesToEven(t *testing.T) {
	for h := range 0x7c00 {
		low := f16Value(uint16(h))
		high := 65536.0 // what rounds to 65536 becomes infinity
		if h+1 < 0x7c00 {
			high = f16Value(uint16(h + 1))
		}
		mid := float32((low + high) / 2)
		require.Equal(t, (low+high)/2, float64(mid), "midpoints fit float32")
		even := uint16(h + h&1)
		require.Equal(t, even, F16(mid), "%#04x", h)
		require.Equal(t, uint16(h), F16(math.Nextafter32(mid, 0)), "%#04x", h)
		require.Equal(t, uint16(h+1), F16(math.Nextafter32(mid, 1e9)), "%#04x", h)
		require.Equal(t, even|0x8000, F16(-mid), "%#04x", h)
	}
}

func TestF16Extremes(t *testing.T) {
	inf := float32(math.Inf(1))
	for x, want := range map[float32]uint16{
		65504: 0x7bff, 65519.996: 0x7bff, 65520: 0x7c00, 65536: 0x7c00, math.MaxFloat32: 0x7c00, inf: 0x7c00, -inf: 0xfc00,
		math.SmallestNonzeroFloat32: 0, 0x1p-25: 0, 0x1.000002p-25: 1, 0x1p-24: 1,
	} {
		assert.Equal(t, want, F16(x), "%g", x)
	}
	assert.Equal(t, uint16(0x8000), F16(float32(math.Copysign(0, -1))))
	nan := math.Float32frombits(0xff800001)
	assert.Equal(t, uint16(0xfe00), F16(nan), "a NaN whose payload is all in the lower bits stays a NaN")
}

// bf16Nearest rounds through float64 arithmetic rather than through bits.
func bf16Nearest(x float32) float32 {
	_, exp := math.Frexp(float64(x))
	exp = max(exp, -125) // subnormals share the last place of the smallest normal, 2^-126
	frac := float64(x) / math.Ldexp(1, exp)
	return float32(math.Ldexp(math.RoundToEven(frac*256), exp-8))
}

func TestBF16RoundsToNearestEven(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1 << 20 {
		x := math.Float32frombits(rng.Uint32())
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			continue
		}
		require.Equal(t, bf16Nearest(x), FromBF16(BF16(x)), "%x", x)
	}
	for b := range 1 << 16 { // exact values and ties
		bits := uint32(b) << 16
		if bits&expMask == expMask {
			continue
		}
		require.Equal(t, uint16(b), BF16(math.Float32frombits(bits)))
		require.Equal(t, uint16(b+b&1), BF16(math.Float32frombits(bits|0x8000)), "%#04x", b)
		require.Equal(t, uint16(b), BF16(math.Float32frombits(bits|0x7fff)), "%#04x", b)
	}
	assert.Equal(t, uint16(0x7f80), BF16(math.MaxFloat32), "overflow")
	assert.Equal(t, uint16(0x7fc0), BF16(math.Float32frombits(0x7f800001)), "NaN stays NaN")
	assert.Equal(t, uint16(0xff80), BF16(float32(math.Inf(-1))))
}

func TestSlices(t *testing.T) {
	x := []float32{0, 1, -2.5, 65504, 1e-7, -0.1}
	got := make([]float32, len(x))
	buf := make([]byte, 4*len(x))

	EncodeF32(buf, x)
	DecodeF32(got, buf)
	assert.Equal(t, x, got)

	EncodeF16(buf, x)
	DecodeF16(got, buf)
	for i := range x {
		assert.Equal(t, FromF16(F16(x[i])), got[i])
	}
	assert.Equal(t, []byte{0x00, 0x3c}, buf[2:4], "little-endian")

	EncodeBF16(buf, x)
	DecodeBF16(got, buf)
	for i := range x {
		assert.Equal(t, FromBF16(BF16(x[i])), got[i])
	}
	assert.Panics(t, func() { DecodeF16(got, buf[:3]) })
}

func BenchmarkEncodeF16(b *testing.B) {
	x, buf := make([]float32, 4096), make([]byte, 8192)
	for i := range x {
		x[i] = float32(i) / 4096
	}
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		EncodeF16(buf, x)
	}
}
