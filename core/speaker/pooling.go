package speaker

import (
	"math"

	"github.com/libqwen/libqwen/ggml"
)

// leastVariance is what the reference takes a square root of at least.
const leastVariance = 1e-12

// Pooling is attentive statistics pooling: mean and standard deviation of each channel over time, where frames weigh
// what attention gives them. Attention sees the frame and the unweighted statistics of the clip.
type Pooling struct {
	TDNN TDNN `gguf:"tdnn" shape:"1,3aggregate,attention"`
	Conv Conv `gguf:"conv" shape:"1,attention,aggregate"`
}

// Forward maps x [C, T] to the mean and the deviation [2C, 1].
func (p *Pooling) Forward(x ggml.Tensor, in *inputs) ggml.Tensor {
	xt := byTime(x)
	weights := byTime(p.logits(x, moments(xt, average), in)).SoftMax(ggml.Tensor{}, 1) // [T, C]
	return moments(xt, func(x ggml.Tensor) ggml.Tensor { return x.Mul(weights).SumRows() })
}

// logits of attention, x [C, T], moments [2C, 1] -> [C, T]. The TDNN's input is the two on top of each other, the
// moments for every frame: what they contribute is the same for all and is computed once.
func (p *Pooling) logits(x, moments ggml.Tensor, in *inputs) ggml.Tensor {
	c := x.Dim(0)
	w := in.b.Use(p.TDNN.weight)
	y := x.MatMul(w.Slice(0, 0, c)).Add(moments.MatMul(w.Slice(0, c, 2*c)).Add(p.TDNN.bias)) // [A, T]
	y = tap(y.ReLU(), "asp_tdnn")
	return tap(p.Conv.Forward(y.Tanh(), in), "asp_conv_logits")
}

// moments maps x [T, C] to its mean and standard deviation over time, one after the other [2C, 1]. expect is the mean
// over time of [T, C].
func moments(x ggml.Tensor, expect func(ggml.Tensor) ggml.Tensor) ggml.Tensor {
	mean := expect(x) // [1, C]
	variance := expect(x.Sub(mean).Sqr())
	deviation := variance.Clamp(leastVariance, math.MaxFloat32).Sqrt()
	return mean.Concat(deviation, 1).Reshape(2*x.Dim(1), 1)
}
