package codec

import (
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// EncoderTransformer is a stack of causal layers with rotary positions. Each position attends to all before it: the
// published configuration names a window that the reference does not apply. There is no norm at the end.
type EncoderTransformer struct {
	Layers []EncoderLayer `gguf:"blk.%d"`
}

// EncoderLayer is x + scale·Attn(LayerNorm(x)), then the same with an MLP, down(GELU(up(x))); LayerScale is a factor for
// each channel.
type EncoderLayer struct {
	AttnNorm  nn.LayerNorm     `gguf:"attn_norm" shape:"embd"`
	Attn      EncoderAttention `gguf:""`
	AttnScale ggml.Tensor      `gguf:"attn_scale" shape:"embd" as:"f32"`
	FFNNorm   nn.LayerNorm     `gguf:"ffn_norm" shape:"embd"`
	Up        WideLinear       `gguf:"ffn_up" shape:"embd,ffn"`
	Down      WideLinear       `gguf:"ffn_down" shape:"ffn,embd"`
	FFNScale  ggml.Tensor      `gguf:"ffn_scale" shape:"embd" as:"f32"`
}

// EncoderAttention is nn.Attention with weights in F32.
type EncoderAttention struct {
	Q   WideLinear `gguf:"attn_q" shape:"embd,q"`
	K   WideLinear `gguf:"attn_k" shape:"embd,kv"`
	V   WideLinear `gguf:"attn_v" shape:"embd,kv"`
	Out WideLinear `gguf:"attn_output" shape:"q,embd"`
}

// span extends the cache by T positions, or by fewestRows of which only the first T count: what is stored for the
// others is out of their sight, and overwritten when their turn comes.
func (t *EncoderTransformer) span(b *ggml.Builder, cache *nn.Cache, n, window int) *nn.Span {
	return cache.Span(b, max(n, fewestRows), window)
}

// Forward maps x [embd, T] to [embd, T].
func (t *EncoderTransformer) Forward(x ggml.Tensor, span *nn.Span, c *EncoderConfig) ggml.Tensor {
	n := x.Dim(1)
	if n < fewestRows {
		x = x.Repeat(x.Dim(0), fewestRows)
	}
	for i := range t.Layers {
		x = t.Layers[i].Forward(x, span, i, n, c)
	}
	return x.Slice(1, 0, n).Tap("enc_tf_out")
}

// Forward maps x [embd, T] to [embd, T], of which the first n rows are looked at.
func (l *EncoderLayer) Forward(x ggml.Tensor, span *nn.Span, i, n int, c *EncoderConfig) ggml.Tensor {
	y := l.Attn.Forward(l.AttnNorm.Forward(x, c.Eps), span, i, c.Attention)
	y.Slice(1, 0, n).TapF("enc_tf_layer%d_attn", i)
	x = x.Add(y.Mul(l.AttnScale))
	y = l.Down.Forward(l.Up.Forward(l.FFNNorm.Forward(x, c.Eps)).GELU())
	y.Slice(1, 0, n).TapF("enc_tf_layer%d_mlp", i)
	x = x.Add(y.Mul(l.FFNScale))
	x.Slice(1, 0, n).TapF("enc_tf_layer%d", i)
	return x
}

// Forward is nn.Attention's.
func (a *EncoderAttention) Forward(x ggml.Tensor, span *nn.Span, layer int, c nn.AttentionConfig) ggml.Tensor {
	l := nn.Attention{Q: a.Q.Linear, K: a.K.Linear, V: a.V.Linear, Out: a.Out.Linear}
	return l.Forward(x, span, layer, c)
}

// WideLinear is a linear layer whose weights are brought to F32. ggml rounds the other factor of a product to something
// like the weights' type, and nearest neighbours do not forgive that. K-quants, which are coarser than such a rounding,
// stay as they are.
type WideLinear struct{ nn.Linear }

// LoadFrom implements nn.Custom for a matrix [in, out].
func (w *WideLinear) LoadFrom(l *nn.Loader, name string, shape []int) error {
	name += ".weight"
	t, err := l.Find(name, shape...)
	if err != nil {
		return err
	}
	switch t.Type {
	case gguf.F16, gguf.BF16, gguf.Q8_0:
		w.Weight = l.Put(t, func() ([]float32, error) { return l.Floats(t) }, shape...)
		return nil
	}
	w.Weight, err = asStored(l, name, shape[0], shape[1])
	return err
}

// asStored loads a matrix in the file's type, in place where that can be.
func asStored(l *nn.Loader, name string, in, out int) (ggml.Tensor, error) {
	var t struct {
		Matrix ggml.Tensor `gguf:"" shape:"in,out"`
	}
	err := l.Load(&t, name, nn.Dims{"in": in, "out": out})
	return t.Matrix, err
}
