package speaker

import (
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// Conv is a convolution over time that keeps the number of frames: y[t] = b + Σk W[k]·x[t + k·d - ⌊(K-1)·d/2⌋]. Frames
// beyond the ends are those that lie as far inside: the clip is reflected about its first and its last frame.
type Conv struct {
	weight ggml.Tensor // F32 [K·C in, C out]
	bias   ggml.Tensor // F32 [C out]
	window window
}

// LoadFrom implements nn.Custom for a kernel [K, C in, C out].
func (c *Conv) LoadFrom(l *nn.Loader, name string, shape []int) error {
	taps, in, out := shape[0], shape[1], shape[2]
	c.window.taps = taps
	weight, err := l.Find(name+".weight", taps, in, out)
	if err != nil {
		return err
	}
	bias, err := l.Find(name+".bias", out)
	if err != nil {
		return err
	}
	c.weight = l.Put(weight, func() ([]float32, error) {
		w, err := l.Floats(weight)
		return frameByFrame(w, taps, in), err
	}, taps*in, out)
	c.bias = l.Put(bias, func() ([]float32, error) { return l.Floats(bias) }, out)
	return nil
}

// frameByFrame brings [K, C in, C out] to [C in, K, C out].
func frameByFrame(src []float32, taps, in int) []float32 {
	if taps == 1 {
		return src
	}
	dst := make([]float32, 0, len(src))
	for ; len(src) > 0; src = src[taps*in:] {
		for k := range taps {
			for i := range in {
				dst = append(dst, src[i*taps+k])
			}
		}
	}
	return dst
}

// Forward maps x [C in, T] to [C out, T].
func (c *Conv) Forward(x ggml.Tensor, in *inputs) ggml.Tensor {
	if c.window.taps > 1 {
		x = in.frames(c.window).GetRows(x).Reshape(c.window.taps*x.Dim(0), x.Dim(1)) // [C·K, T]
	}
	return x.MatMul(c.weight).Add(c.bias)
}

// TDNN is a convolution and ReLU.
type TDNN struct{ Conv }

// Forward maps x [C in, T] to [C out, T].
func (c *TDNN) Forward(x ggml.Tensor, in *inputs) ggml.Tensor {
	return c.Conv.Forward(x, in).ReLU()
}

// window is what an output of a convolution sees.
type window struct{ taps, dilation int }

// reach is how many frames it sees before and after its own; of an odd number the last is after it.
func (w window) reach() (before, after int) {
	span := (w.taps - 1) * w.dilation
	return span / 2, span - span/2
}

// frames are the numbers of the frames that the outputs see, T times K of them.
func (w window) frames(n int) []int32 {
	before, _ := w.reach()
	ids := make([]int32, 0, n*w.taps)
	for t := range n {
		for k := range w.taps {
			ids = append(ids, int32(reflected(t-before+k*w.dilation, n)))
		}
	}
	return ids
}

// reflected is the frame of n that stands for frame i, at most n-1 beyond an end.
func reflected(i, n int) int {
	if i < 0 {
		return -i
	}
	if i >= n {
		return 2*(n-1) - i
	}
	return i
}
