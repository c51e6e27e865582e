// Package nn has the layers that two or more of the model's families use, the cache that makes attention
// incremental, and the loading of weights into tagged structs.
//
// Axes, ggml order (ne[0] first): C channels, N new positions, T positions seen, D head width, H heads.
package nn

import (
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/kernels"
)

// Linear is y = W·x. The weights are as in the file or, if the Loader packs, in panels where there is a kernel for them; or
// in the file and later in panels.
type Linear struct {
	Weight ggml.Tensor // [in, out]
	panels kernels.Panels
	twin   kernels.Twin
}

// LoadFrom implements Custom for a matrix [in, out].
func (l *Linear) LoadFrom(from *Loader, name string, shape []int) (err error) {
	name = join(name, "weight")
	var packed bool
	if l.panels, packed, err = from.panels(name, shape); err != nil || packed {
		return err
	}
	if l.Weight, err = from.tensor(name, shape, ""); err == nil {
		l.twin = from.twin(name, shape, l.Weight)
	}
	return err
}

// Forward maps x [in, N] to [out, N].
func (l *Linear) Forward(x ggml.Tensor) ggml.Tensor {
	if l.twin.Valid() {
		return l.twin.MatMul(x)
	}
	if l.panels.Valid() {
		return l.panels.MatMul(x)
	}
	return kernels.MatMul(x, l.Weight)
}

// Valid tells whether the layer was loaded.
func (l *Linear) Valid() bool { return l.Weight.Valid() || l.panels.Valid() }

// Affine is y = W·x + b.
type Affine struct {
	Matrix Linear      `gguf:"" shape:"$0,$1"`
	Bias   ggml.Tensor `gguf:"bias" shape:"$1" as:"f32"` // [out]
}

// Forward maps x [in, N] to [out, N].
func (l *Affine) Forward(x ggml.Tensor) ggml.Tensor { return l.Matrix.Forward(x).Add(l.Bias) }

// Valid tells whether the layer was loaded.
func (l *Affine) Valid() bool { return l.Matrix.Valid() }

// RMSNorm is y = x / sqrt(mean(x²) + eps) · w over the channels.
type RMSNorm struct {
	Weight ggml.Tensor `gguf:"weight" shape:"$0" as:"f32"` // [C]
}

// Forward normalises dimension 0 of x.
func (n *RMSNorm) Forward(x ggml.Tensor, eps float32) ggml.Tensor {
	return x.RMSNorm(eps).Mul(n.Weight)
}

// LayerNorm is y = (x - mean(x)) / sqrt(var(x) + eps) · w + b over the channels.
type LayerNorm struct {
	Weight ggml.Tensor `gguf:"weight" shape:"$0" as:"f32"` // [C]
	Bias   ggml.Tensor `gguf:"bias" shape:"$0" as:"f32"`   // [C]
}

// Forward normalises dimension 0 of x.
func (n *LayerNorm) Forward(x ggml.Tensor, eps float32) ggml.Tensor {
	return x.Norm(eps).Mul(n.Weight).Add(n.Bias)
}

// SwiGLU is y = down(SiLU(gate(x)) · up(x)).
type SwiGLU struct {
	Gate Linear `gguf:"ffn_gate" shape:"embd,ffn"`
	Up   Linear `gguf:"ffn_up" shape:"embd,ffn"`
	Down Linear `gguf:"ffn_down" shape:"ffn,embd"`
}

// Forward maps x [embd, N] to [embd, N].
func (m *SwiGLU) Forward(x ggml.Tensor) ggml.Tensor {
	return m.Down.Forward(m.Gate.Forward(x).SwiGLU(m.Up.Forward(x)))
}
