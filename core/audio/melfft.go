package audio

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// realFFT is the discrete Fourier transform of a real signal of a power of two of samples, done as a complex
// transform of half the length: even samples are the real parts, odd ones the imaginary parts.
type realFFT struct {
	roots    []complex128 // e^(-2πik/N) for k < N/2
	reversed []int        // of N/2 positions, the bits in reverse order
	z        []complex128 // [N/2]
}

// newRealFFT prepares transforms of n samples, a power of two from 4 on.
func newRealFFT(n int) *realFFT {
	f := &realFFT{roots: make([]complex128, n/2), reversed: make([]int, n/2), z: make([]complex128, n/2)}
	for k := range f.roots {
		f.roots[k] = cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n))
		f.reversed[k] = int(bits.Reverse(uint(k)) >> (bits.UintSize - bits.Len(uint(n/2-1))))
	}
	return f
}

// power writes |X[k]|² for k = 0 … N/2 of the transform X of x [N] to dst [N/2+1].
func (f *realFFT) power(dst, x []float64) {
	for i, r := range f.reversed {
		f.z[r] = complex(x[2*i], x[2*i+1])
	}
	f.transform()
	half := len(f.z)
	for k := range half/2 + 1 {
		// The transforms of the even and the odd samples, e and o, come out of z mixed: z[k] = e + io. For k and N/2-k
		// they are conjugates.
		a, b := f.z[k], cmplx.Conj(f.z[(half-k)%half])
		even := (a + b) / 2
		odd := complex(imag(a-b)/2, -real(a-b)/2) * f.roots[k]
		dst[k], dst[half-k] = norm(even+odd), norm(even-odd)
	}
}

// transform is radix-2, decimation in time, in place; z comes in bit-reversed order.
func (f *realFFT) transform() {
	n := len(f.z)
	for size := 2; size <= n; size *= 2 {
		step := 2 * n / size // from one root of this size to the next: roots are of 2n
		for at := 0; at < n; at += size {
			low, high := f.z[at:at+size/2], f.z[at+size/2:at+size]
			for k, a := range low {
				b := high[k] * f.roots[k*step]
				low[k], high[k] = a+b, a-b
			}
		}
	}
}

// norm is |z|².
func norm(z complex128) float64 { return real(z)*real(z) + imag(z)*imag(z) }
