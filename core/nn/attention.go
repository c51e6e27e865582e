package nn

import (
	"math"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/kernels"
)

// AttentionConfig is what the weights' shapes do not tell.
type AttentionConfig struct {
	Heads, KVHeads, HeadDim int
	RopeBase                float32
	Eps                     float32 // of the query and key norms
	Flash                   bool    // by one operation of the device, see CanFlash; else step by step, which the CPU does faster
	Kernel                  bool    // single positions by a kernel, see CanKernel; their results differ from ggml's by rounding
	ClampFP16               bool    // keep values, and the stream between layers, within half precision, for devices that add up in it
}

// FP16Max is the largest finite half-precision number.
const FP16Max = 65504

// Dims adds the widths of an attention layer to the dimensions that shape tags name.
func (c AttentionConfig) Dims(d Dims) Dims {
	d["q"], d["kv"], d["head"] = c.Heads*c.HeadDim, c.KVHeads*c.HeadDim, c.HeadDim
	return d
}

// Attention is causal self-attention with rotary positions and, in Qwen3, norms on queries and keys.
type Attention struct {
	Q     Linear  `gguf:"attn_q" shape:"embd,q"`
	K     Linear  `gguf:"attn_k" shape:"embd,kv"`
	V     Linear  `gguf:"attn_v" shape:"embd,kv"`
	Out   Linear  `gguf:"attn_output" shape:"q,embd"`
	QNorm RMSNorm `gguf:"attn_q_norm" shape:"head" if:"qknorm"`
	KNorm RMSNorm `gguf:"attn_k_norm" shape:"head" if:"qknorm"`
}

// Forward attends from the new positions x [embd, N] to all that span lets them see; the result is [embd, N].
// layer is the layer's place in the span's cache. x may also be [embd, 1, N], see Few.
func (a *Attention) Forward(x ggml.Tensor, span *Span, layer int, c AttentionConfig) ggml.Tensor {
	q := heads(a.Q.Forward(x).TapF("L%d_q_proj", layer), c.Heads) // [D, H, N]
	k := heads(a.K.Forward(x).TapF("L%d_k_proj", layer), c.KVHeads)
	v := a.V.Forward(x).TapF("L%d_v_proj", layer) // [D·KV, N]
	if a.QNorm.Weight.Valid() {
		q = a.QNorm.Forward(q, c.Eps).TapF("L%d_q_norm", layer)
		k = a.KNorm.Forward(k, c.Eps).TapF("L%d_k_norm", layer)
	}
	if c.ClampFP16 {
		v = v.Clamp(-FP16Max, FP16Max)
	}
	q, k = q.RoPE(span.Positions, c.RopeBase), k.RoPE(span.Positions, c.RopeBase)
	keys, values := span.Extend(layer, k, v)
	y := span.attend(q, keys, values, c.HeadDim).TapF("L%d_attn_heads_concat", layer)
	return a.Out.Forward(y.Reshape(y.Dim(0), x.Dim(1), x.Dim(2)))
}

// Few views positions [C, N] as [C, 1, N]. For a handful of positions the kernels for single vectors, which then read
// each weight once for all of them, are several times faster than those for matrices.
func Few(x ggml.Tensor) ggml.Tensor { return x.Reshape(x.Dim(0), 1, x.Dim(1)) }

// heads splits [D·H, N] into [D, H, N].
func heads(x ggml.Tensor, n int) ggml.Tensor { return x.Reshape(x.Dim(0)/n, n, x.Dim(1)*x.Dim(2)) }

// CanKernel tells whether there is a kernel for single positions, with keys of a type.
func (c AttentionConfig) CanKernel(be *ggml.Backend, keys ggml.Type) bool {
	return !c.Flash && kernels.CanAttend(be, c.HeadDim, c.Heads, c.KVHeads, keys, c.ValueType(keys))
}

// attend is softmax(k·q / √D + mask)·v, heads concatenated, for each lane by itself. q [D, H, N·lanes], keys and values as
// Extend returns them -> [D·H, N·lanes].
func (s *Span) attend(q, keys, values ggml.Tensor, headDim int) ggml.Tensor {
	if s.cache.kernel && s.n == 1 {
		return kernels.Attend(q, keys, values, s.Mask, s.window)
	}
	k, v := s.Visible(keys, values)
	h := q.Dim(1)
	q = q.Reshape(headDim, h, s.n, s.lanes).Permute(0, 2, 1, 3) // [D, N, H, lanes]
	scale := float32(1 / math.Sqrt(float64(headDim)))
	if s.cache.flash {
		return q.FlashAttention(k, v, s.Mask, scale).Reshape(headDim*h, s.n*s.lanes) // [D, H, N, lanes]
	}
	weights := q.MatMul(k).SoftMax(s.Mask, scale)                                       // [T, N, H, lanes]
	return weights.MatMul(v).Permute(0, 2, 1, 3).Cont().Reshape(headDim*h, s.n*s.lanes) // [D, N, H, lanes] -> [D, H, N, lanes]
}
