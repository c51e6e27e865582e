package codec

import (
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// Transformer is a stack of causal layers with rotary positions and a sliding window.
type Transformer struct {
	In     nn.Affine  `gguf:"input_proj" shape:"latent,embd"`
	Layers []Layer    `gguf:"blk.%d"`
	Norm   nn.RMSNorm `gguf:"norm" shape:"embd"`
	Out    nn.Affine  `gguf:"output_proj" shape:"embd,latent"`
}

// Layer is x + scale·Attn(RMSNorm(x)), then the same with SwiGLU; LayerScale is a factor for each channel.
type Layer struct {
	AttnNorm  nn.RMSNorm   `gguf:"attn_norm" shape:"embd"`
	Attn      nn.Attention `gguf:""`
	AttnScale ggml.Tensor  `gguf:"attn_scale" shape:"embd" as:"f32"`
	FFNNorm   nn.RMSNorm   `gguf:"ffn_norm" shape:"embd"`
	FFN       nn.SwiGLU    `gguf:""`
	FFNScale  ggml.Tensor  `gguf:"ffn_scale" shape:"embd" as:"f32"`
}

// span extends the cache by T positions, or by fewestRows of which only the first T count: what is stored for the
// others is out of their sight, and overwritten when their turn comes.
func (t *Transformer) span(b *ggml.Builder, cache *nn.Cache, n int) *nn.Span {
	return cache.Span(b, max(n, fewestRows), cache.Slots())
}

// Forward maps x [latent, T] to [latent, T].
func (t *Transformer) Forward(x ggml.Tensor, span *nn.Span, c *DecoderConfig) ggml.Tensor {
	n := x.Dim(1)
	if n < fewestRows {
		x = x.Repeat(x.Dim(0), fewestRows)
	}
	x = t.In.Forward(x).Tap("pre_tf_input_proj")
	for i := range t.Layers {
		x = t.Layers[i].Forward(x, span, i, c).TapF("pre_tf_layer%d", i)
	}
	x = t.Norm.Forward(x, c.Eps).Tap("pre_tf_norm")
	return t.Out.Forward(x).Tap("pre_tf_output_proj").Slice(1, 0, n)
}

// Forward maps x [embd, T] to [embd, T].
func (l *Layer) Forward(x ggml.Tensor, span *nn.Span, i int, c *DecoderConfig) ggml.Tensor {
	y := l.Attn.Forward(l.AttnNorm.Forward(x, c.Eps), span, i, c.Attention).TapF("pre_tf_layer%d_attn", i)
	x = x.Add(y.Mul(l.AttnScale))
	y = l.FFN.Forward(l.FFNNorm.Forward(x, c.Eps)).TapF("pre_tf_layer%d_mlp", i)
	return x.Add(y.Mul(l.FFNScale))
}
