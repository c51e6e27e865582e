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
	stride        int // of a transposed convolution
}

// ConvLayout is that of a kernel [K, in, out].
func ConvLayout(taps, in, out int) Layout {
	return Layout{Outputs: steps(out, taps*in), Taps: steps(taps, 1), Channels: in, Channel: taps}
}

// TransConvLayout is that of a transposed convolution [taps·stride, out, in] as a convolution with stride·out outputs:
// those of the first of the stride new rows come first, and the oldest tap has the last weights of the kernel.
func TransConvLayout(taps, stride, in, out int) Layout {
	k := taps * stride
	l := Layout{Taps: make([]int, taps), Channels: in, Channel: k * out, stride: stride}
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
		return
	}
	pack16(l, elements[uint16](dst), elements[uint16](src), from)
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

// pack16 is pack for 16-bit weights, four outputs at a time.
func pack16(l Level, dst, src []uint16, from Layout) {
	switch outputs := len(from.Outputs); {
	case from.stride == 0 && outputs%4 == 0:
		packConv16(l, dst, src, from)
	case from.stride > 0 && outputs/from.stride%4 == 0:
		packTransConv16(l, dst, src, from)
	default:
		pack(l, dst, src, from)
	}
}

// packConv16 is pack16 for ConvLayout: all weights of an output follow each other.
func packConv16(l Level, dst, src []uint16, from Layout) {
	taps, channels := len(from.Taps), from.Channels
	at := make([]int, taps*channels)
	l.panels(from, func(outputs []int, width int) {
		for e := range at {
			at[e] = (e%taps*channels + e/taps) * width
		}
		for j := 0; j < len(outputs); j += 4 {
			turn(dst[j:], at, src[outputs[j]:], taps*channels)
		}
		dst = dst[width*len(at):]
	})
}

// packTransConv16 is pack16 for TransConvLayout: the weights of a channel and of all taps and new rows of an output
// follow each other.
func packTransConv16(l Level, dst, src []uint16, from Layout) {
	taps, channels := len(from.Taps), from.Channels
	k, out := taps*from.stride, len(from.Outputs)/from.stride
	first, step := l.places(from)
	at := make([]int, k)
	for o := 0; o < out; o += 4 {
		for i := range channels {
			e := k
			for tap := range taps { // the oldest has the last weights
				for r := from.stride - 1; r >= 0; r-- {
					e--
					n := r*out + o
					at[e] = first[n] + (tap*channels+i)*step[n]
				}
			}
			turn(dst, at, src[i*from.Channel+o*k:], k)
		}
	}
}

// places are where each output's first weight comes, and how far from it the next one.
func (l Level) places(from Layout) (first, step []int) {
	panel := 0
	l.panels(from, func(outputs []int, width int) {
		for j := range outputs {
			first, step = append(first, panel+j), append(step, width)
		}
		panel += width * len(from.Taps) * from.Channels
	})
	return first, step
}

// turn writes columns of four rows, which follow each other and have as many elements as there are places, to these
// places.
func turn(dst []uint16, at []int, src []uint16, row int) {
	a, b, c, d := src[:row], src[row:2*row], src[2*row:3*row], src[3*row:4*row]
	e := 0
	for ; e+4 <= len(at); e += 4 {
		for i, v := range columns(four(&a[e]), four(&b[e]), four(&c[e]), four(&d[e])) {
			*(*uint64)(unsafe.Pointer(&dst[at[e+i]])) = v
		}
	}
	for ; e < len(at); e++ {
		*(*[4]uint16)(dst[at[e]:]) = [4]uint16{a[e], b[e], c[e], d[e]}
	}
}

// four elements from one on, in the order of memory from the lowest bits.
func four(p *uint16) uint64 { return *(*uint64)(unsafe.Pointer(p)) }

// columns of a matrix of four rows and columns.
func columns(a, b, c, d uint64) [4]uint64 {
	const even, low = 0x0000ffff0000ffff, 0x00000000ffffffff
	ab02, ab13 := a&even|b&even<<16, a>>16&even|b&^even
	cd02, cd13 := c&even|d&even<<16, c>>16&even|d&^even
	return [4]uint64{ab02&low | cd02<<32, ab13&low | cd13<<32, ab02>>32 | cd02&^low, ab13>>32 | cd13&^low}
}

// panels calls f with the outputs of each panel and its width.
func (l Level) panels(from Layout, f func(outputs []int, width int)) {
	for outputs := range slices.Chunk(from.Outputs, vectors*l.vector()) {
		f(outputs, l.padded(len(outputs)))
	}
}
