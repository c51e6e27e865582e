package speaker

import (
	"github.com/libqwen/libqwen/ggml"
)

// Block is an SE-Res2Net block: x + SE(tdnn2(Res2Net(tdnn1(x)))).
type Block struct {
	TDNN1   TDNN    `gguf:"tdnn1" shape:"1,channels,channels"`
	Res2Net Res2Net `gguf:""`
	TDNN2   TDNN    `gguf:"tdnn2" shape:"1,channels,channels"`
	SE      SE      `gguf:"se"`
}

// Forward maps x [C, T] to [C, T]. i is the block's number, from 1.
func (b *Block) Forward(x ggml.Tensor, in *inputs, i int) ggml.Tensor {
	y := tap(b.TDNN1.Forward(x, in), "blk%d_tdnn1", i)
	y = tap(b.Res2Net.Forward(y, in), "blk%d_res2net", i)
	y = tap(b.TDNN2.Forward(y, in), "blk%d_tdnn2", i)
	gate := tap(b.SE.Gate(y, in), "blk%d_se_gate", i)
	return tap(y.Mul(gate).Add(x), "blk%d", i)
}

// Res2Net splits the channels into parts; the first passes, the second is convolved, and each of the others is
// convolved after the result for the part before was added.
type Res2Net struct {
	Convs []TDNN `gguf:"res2net.%d" shape:"taps,part,part"`
}

// Forward maps x [C, T] to [C, T].
func (r *Res2Net) Forward(x ggml.Tensor, in *inputs) ggml.Tensor {
	n := len(r.Convs) + 1
	width := x.Dim(0) / n
	parts := make([]ggml.Tensor, n) // [C/n, T]
	for i := range parts {
		part := x.Slice(0, i*width, width)
		if i > 1 {
			part = part.Add(parts[i-1])
		}
		if i > 0 {
			part = r.Convs[i-1].Forward(part, in)
		}
		parts[i] = part
	}
	return concat(parts)
}

// concat puts tensors [C, T] side by side, halves first, so that few bytes are copied more than once.
func concat(parts []ggml.Tensor) ggml.Tensor {
	if len(parts) == 1 {
		return parts[0]
	}
	half := len(parts) / 2
	return concat(parts[:half]).Concat(concat(parts[half:]), 0)
}

// SE is squeeze-excitation: a factor for each channel, from the mean of all channels over time.
type SE struct {
	Squeeze TDNN `gguf:"conv1" shape:"1,channels,squeeze"`
	Excite  Conv `gguf:"conv2" shape:"1,squeeze,channels"`
}

// Gate maps x [C, T] to the factors [C, 1].
func (s *SE) Gate(x ggml.Tensor, in *inputs) ggml.Tensor {
	mean := average(byTime(x)).Reshape(x.Dim(0), 1)
	return s.Excite.Forward(s.Squeeze.Forward(mean, in), in).Sigmoid()
}

// byTime turns [C, T] to [T, C].
func byTime(x ggml.Tensor) ggml.Tensor { return x.Transpose().Cont() }

// average maps x [T, C] to the mean over time [1, C].
func average(x ggml.Tensor) ggml.Tensor { return x.SumRows().Scale(1 / float32(x.Dim(0))) }
