package lm

import (
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// Block is one Qwen3 decoder layer.
type Block struct {
	AttnNorm nn.RMSNorm   `gguf:"attn_norm" shape:"embd"`
	Attn     nn.Attention `gguf:"" shape:""`
	MLPNorm  nn.RMSNorm   `gguf:"ffn_norm" shape:"embd"`
	MLP      nn.SwiGLU    `gguf:""`
}

// Forward is x <- x + Attn(RMSNorm(x)); x <- x + SwiGLU(RMSNorm(x)). x [E, N].
func (b *Block) Forward(x ggml.Tensor, span *nn.Span, layer int, c StackConfig) ggml.Tensor {
	h := b.AttnNorm.Forward(x, c.Eps).TapF("L%d_attn_norm", layer)
	x = x.Add(b.Attn.Forward(h, span, layer, c.AttentionConfig).TapF("L%d_attn_out", layer))
	h = b.MLPNorm.Forward(x, c.Eps).TapF("L%d_ffn_norm", layer)
	return x.Add(b.MLP.Forward(h).TapF("L%d_mlp_out", layer))
}

// Stack is the layers of a model and its final norm.
type Stack struct {
	Blocks     []Block    `gguf:"blk.%d"`
	OutputNorm nn.RMSNorm `gguf:"output_norm" shape:"embd"`

	c StackConfig
}

// Forward runs x [E, N] through all layers; the result is before the final norm. tap names the layers' results.
func (s *Stack) Forward(x ggml.Tensor, span *nn.Span, tap string) ggml.Tensor {
	for i := range s.Blocks {
		x = s.Blocks[i].Forward(x, span, i, s.c)
		if s.c.ClampFP16 {
			x = x.Clamp(-nn.FP16Max, nn.FP16Max)
		}
		x = x.TapF(tap, i)
	}
	return x
}

// nodes is more than the number of graph nodes that Forward makes, with taps.
func (s *Stack) nodes() int { return 96*len(s.Blocks) + 512 }

// last is the last position of each lane: x [E, N·lanes], or [E, 1, N·lanes] (see nn.Few), -> [E, 1, lanes].
func last(x ggml.Tensor, lanes int) ggml.Tensor {
	e, n := x.Dim(0), x.Elements()/x.Dim(0)/lanes
	if n == 1 {
		return x
	}
	return x.Reshape(e, n, lanes).Slice(1, n-1, 1).Cont()
}
