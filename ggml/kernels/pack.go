package kernels

import (
	"slices"
	"unsafe"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// Layout tells where a file has a convolution's weights: that of output o, tap k and input channel i is element
// Outputs[o] + Taps[k] + i·Channel.
type Layout struct {
	Outputs, Taps []int
	Channels      int // inputs
	Channel       int
}

// ConvLayout is that of a kernel [K, in, out].
func ConvLayout(taps, in, out int) Layout {
	return Layout{Outputs: steps(out, taps*in), Taps: steps(taps, 1), Channels: in, Channel: taps}
}

// TransConvLayout is that of a transposed convolution [taps·stride, out, in] as a convolution with stride·out outputs:
// those of the first of the stride new rows come first, and the oldest tap has the last weights of the kernel.
func TransConvLayout(taps, stride, in, out int) Layout {
	k := taps * stride
	l := Layout{Taps: make([]int, taps), Channels: in, Channel: k * out}
	for r := range stride {
		for o := range out {
			l.Outputs = append(l.Outputs, o*k+r)
		}
	}
	for i := range taps {
		l.Taps[i] = (taps - 1 - i) * stride
	}
	return l
}

// steps are 0, d, 2d …
func steps(n, d int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i * d
	}
	return s
}

// Packs tells whether there are kernels for weights of a type. 16-bit weights stay what they are and are widened in
// registers, which is exact. Others must be converted to F32.
func (l Level) Packs(t ggml.Type) bool {
	_, ok := packedTypes[t]
	return ok && (l != Portable || t == gguf.F32)
}

// packedTypes has the numbers of kernels.h.
var packedTypes = map[ggml.Type]int64{gguf.F32: 0, gguf.F16: 1, gguf.BF16: 2}

// PackedShape is the shape of a tensor that holds packed weights; the order of its elements is that of level.h.
func (l Level) PackedShape(from Layout) []int {
	return []int{l.padded(len(from.Outputs)), len(from.Taps) * from.Channels}
}

// Pack lays weights, of a type that Packs accepts, out for Conv. dst is zeroed, as wide as PackedShape tells.
func (l Level) Pack(dst, src []byte, t ggml.Type, from Layout) {
	if t == gguf.F32 {
		pack(l, elements[float32](dst), elements[float32](src), from)
	} else {
		pack(l, elements[uint16](dst), elements[uint16](src), from)
	}
}

// PackF32 is Pack for weights that were converted.
func (l Level) PackF32(dst []byte, src []float32, from Layout) {
	pack(l, elements[float32](dst), src, from)
}

// PackRounded is PackF32 for weights that are rounded to BF16 on the way; the number of channels is even. A step has the
// weights of two channels side by side.
func (l Level) PackRounded(dst []byte, src []float32, from Layout) {
	rounded := make([]uint16, len(src))
	for i, x := range src {
		rounded[i] = half.BF16(x)
	}
	l.panels(from, func(outputs []int, width int) {
		for i := range from.Channels {
			for k, tap := range from.Taps {
				step := elements[uint16](dst)[(k*from.Channels+i&^1)*width+i&1:]
				for j, o := range outputs {
					step[2*j] = rounded[o+tap+i*from.Channel]
				}
			}
		}
		dst = dst[2*width*len(from.Taps)*from.Channels:]
	})
}

// elements views bytes, which lie aligned, as elements.
func elements[E any](b []byte) []E {
	var e E
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(e)))
}

func pack[E uint16 | float32](l Level, dst, src []E, from Layout) {
	l.panels(from, func(outputs []int, width int) {
		for i := range from.Channels {
			for k, tap := range from.Taps {
				step := dst[(k*from.Channels+i)*width:][:len(outputs)]
				tap += i * from.Channel
				for j, o := range outputs {
					step[j] = src[o+tap]
				}
			}
		}
		dst = dst[width*len(from.Taps)*from.Channels:]
	})
}

// panels calls f with the outputs of each panel and its width.
func (l Level) panels(from Layout, f func(outputs []int, width int)) {
	for outputs := range slices.Chunk(from.Outputs, vectors*l.vector()) {
		f(outputs, l.padded(len(outputs)))
	}
}
