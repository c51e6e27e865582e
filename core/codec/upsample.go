package codec

import (
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// convNeXtEps is the epsilon of ConvNeXt's norm; the reference has it in code.
const convNeXtEps = 1e-6

// Upsample is a transposed convolution without overlap and a ConvNeXt block:
// x + γ·W2·GELU(W1·LayerNorm(dwconv(x))).
type Upsample struct {
	Conv  TransConv     `gguf:"conv" shape:"ratio,latent,latent"`
	DW    DepthwiseConv `gguf:"dwconv" shape:"7,1,latent"`
	Norm  nn.LayerNorm  `gguf:"norm" shape:"latent"`
	PW1   nn.Affine     `gguf:"pwconv1" shape:"latent,4latent"`
	PW2   nn.Affine     `gguf:"pwconv2" shape:"4latent,latent"`
	Gamma ggml.Tensor   `gguf:"gamma" shape:"latent" as:"f32"`
}

// Forward maps x [C, T] to [C, ratio·T].
func (u *Upsample) Forward(x ggml.Tensor, m *memory, i int) ggml.Tensor {
	x = u.Conv.Forward(x, m).TapF("upsample%d_transconv", i)
	y := u.DW.Forward(x, m).TapF("upsample%d_convnext_dwconv", i)
	y = widened(u.Norm.Forward(y, convNeXtEps), u.PW1.Forward).GELU() // [4C, ratio·T]
	y = widened(y, u.PW2.Forward)
	return x.Add(y.Mul(u.Gamma)).TapF("upsample%d_convnext", i)
}
