package codec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGeometries decodes with random weights of other geometries than the published one, and compares with the
// plain computation below.
func TestGeometries(t *testing.T) {
	for name, c := range map[string]DecoderConfig{
		"grouped heads, one upsampling stage": {
			Codebooks: 5, Semantic: 2, CodebookSize: 11, CodebookDim: 6, RVQDim: 12, Latent: 10, Upsampling: []int{3},
			Layers: 3, Width: 8, FFN: 14, Window: 5, Eps: 1e-5,
			Attention: nn.AttentionConfig{Heads: 4, KVHeads: 2, HeadDim: 6, RopeBase: 100},
			Channels:  []int{24, 12, 6, 3}, Strides: []int{2, 3, 2},
		},
		"no upsampling stage, one head": {
			Codebooks: 2, Semantic: 1, CodebookSize: 3, CodebookDim: 4, RVQDim: 8, Latent: 4, Upsampling: []int{},
			Layers: 1, Width: 6, FFN: 5, Window: 1, Eps: 1e-3,
			Attention: nn.AttentionConfig{Heads: 1, KVHeads: 1, HeadDim: 2, RopeBase: 10000},
			Channels:  []int{6, 3}, Strides: []int{7},
		},
		"many layers, many blocks": {
			Codebooks: 40, Semantic: 20, CodebookSize: 4, CodebookDim: 4, RVQDim: 8, Latent: 4, Upsampling: []int{1, 2, 1, 1, 1, 1},
			Layers: 24, Width: 6, FFN: 5, Window: 3, Eps: 1e-5,
			Attention: nn.AttentionConfig{Heads: 2, KVHeads: 2, HeadDim: 2, RopeBase: 10000},
			Channels:  []int{32, 16, 8, 4, 2, 1}, Strides: []int{1, 2, 1, 1, 1},
		},
		"three upsampling stages, wide window": {
			Codebooks: 4, Semantic: 1, CodebookSize: 16, CodebookDim: 16, RVQDim: 32, Latent: 16, Upsampling: []int{2, 1, 3},
			Layers: 2, Width: 16, FFN: 32, Window: 40, Eps: 1e-5,
			Attention: nn.AttentionConfig{Heads: 2, KVHeads: 1, HeadDim: 16, RopeBase: 10000},
			Channels:  []int{32, 16, 8}, Strides: []int{1, 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpec(c)
			file, want := s.rig().write(t), []float32(nil)
			levels(t, func(t *testing.T, level kernels.Level) {
				d, err := loadAt(t, file, 1, level)
				require.NoError(t, err)
				assert.Equal(t, c, d.Config().Decoder)
				codes := randomCodes(d, 130, 7) // longer than the ring of keys and values
				if want == nil {
					want = s.decode(codes)
				}
				checkGeometry(t, d, codes, want)
			})
		})
	}
}

func checkGeometry(t *testing.T, d *Decoder, codes [][]int32, want []float32) {
	t.Helper()
	c := d.Config().Decoder
	got := decode(t, newStream(t, d, 0), codes, len(codes))
	require.Len(t, want, len(codes)*c.hop())
	snr := golden.SNR(got, want)
	assert.Greater(t, snr, 80.0)
	t.Logf("%.1f dB", snr)
	for _, chunk := range []int{1, 3, 16} {
		checkSeam(t, fmt.Sprintf("chunks of %d", chunk), decode(t, newStream(t, d, 16), codes, chunk), got)
	}
	tapped, err := d.NewTappedStream(0)
	require.NoError(t, err)
	t.Cleanup(tapped.Close)
	checkSeam(t, "with taps", decode(t, tapped, codes[:7], 7), got[:7*c.hop()])
	p := tapped.full.passes[0]
	nodes := p.graph.Nodes()
	assert.Less(t, nodes, maxNodes(&c))
	t.Logf("%d nodes of %d", nodes, maxNodes(&c))
	primed := newStream(t, d, 0)
	require.NoError(t, primed.Prime(codes[:100]))
	checkSeam(t, "primed", decode(t, primed, codes[100:], 30), got[100*c.hop():])
}

// spec is a decoder with random weights, and how it decodes, in float64 and as plainly as possible.
type spec struct {
	c       DecoderConfig
	weights map[string][]float32
	list    *rig
	random  *rand.Rand
}

func newSpec(c DecoderConfig) *spec {
	s := &spec{c: c, weights: map[string][]float32{}, list: &rig{values: map[string]any{}}, random: rand.New(rand.NewPCG(3, 4))}
	for k := range c.Codebooks {
		name := fmt.Sprintf("tok_dec.vq_first.%d.codebook", k)
		if k >= c.Semantic {
			name = fmt.Sprintf("tok_dec.vq_rest.%d.codebook", k-c.Semantic)
		}
		s.noise(name, 0, 1, c.CodebookDim, c.CodebookSize)
	}
	s.noise("tok_dec.vq_first.output_proj.weight", 0, 0.3, 1, c.CodebookDim, c.RVQDim)
	s.noise("tok_dec.vq_rest.output_proj.weight", 0, 0.3, 1, c.CodebookDim, c.RVQDim)
	s.conv("tok_dec.pre_conv", 3, c.RVQDim, c.Latent)
	s.affine("tok_dec.pre_tfm.input_proj", c.Latent, c.Width)
	q, kv := c.Attention.Heads*c.Attention.HeadDim, c.Attention.KVHeads*c.Attention.HeadDim
	for i := range c.Layers {
		p := fmt.Sprintf("tok_dec.pre_tfm.blk.%d.", i)
		for _, v := range []string{"attn_norm.weight", "ffn_norm.weight", "attn_scale", "ffn_scale"} {
			s.noise(p+v, 0.8, 0.1, c.Width)
		}
		for _, m := range []struct {
			name    string
			in, out int
		}{{"attn_q", c.Width, q}, {"attn_k", c.Width, kv}, {"attn_v", c.Width, kv}, {"attn_output", q, c.Width},
			{"ffn_gate", c.Width, c.FFN}, {"ffn_up", c.Width, c.FFN}, {"ffn_down", c.FFN, c.Width}} {
			s.noise(p+m.name+".weight", 0, 1/math.Sqrt(float64(m.in)), m.in, m.out)
		}
	}
	s.noise("tok_dec.pre_tfm.norm.weight", 1, 0.1, c.Width)
	s.affine("tok_dec.pre_tfm.output_proj", c.Width, c.Latent)
	for i, r := range c.Upsampling {
		p := fmt.Sprintf("tok_dec.upsample.%d.", i)
		s.noise(p+"conv.weight", 0, 0.3, r, c.Latent, c.Latent)
		s.noise(p+"conv.bias", 0, 0.1, c.Latent)
		s.conv(p+"dwconv", 7, 1, c.Latent)
		s.noise(p+"norm.weight", 1, 0.1, c.Latent)
		s.noise(p+"norm.bias", 0, 0.1, c.Latent)
		s.affine(p+"pwconv1", c.Latent, 4*c.Latent)
		s.affine(p+"pwconv2", 4*c.Latent, c.Latent)
		s.noise(p+"gamma", 0.5, 0.1, c.Latent)
	}
	s.conv(blockName(0)+".conv", 7, c.Latent, c.Channels[0])
	for i, stride := range c.Strides {
		p, in, out := blockName(i+1)+".", c.Channels[i], c.Channels[i+1]
		s.snake(p+"snake", in)
		s.noise(p+"conv_t.weight", 0, 0.5/math.Sqrt(float64(in)), 2*stride, out, in)
		s.noise(p+"conv_t.bias", 0, 0.1, out)
		for j := range 3 {
			p := fmt.Sprintf("%sres.%d.", p, j)
			s.snake(p+"act1", out)
			s.conv(p+"conv1", 7, out, out)
			s.snake(p+"act2", out)
			s.conv(p+"conv2", 1, out, out)
		}
	}
	n := len(c.Strides)
	s.snake(blockName(n+1)+".snake", c.Channels[n])
	s.conv(blockName(n+2)+".conv", 7, c.Channels[n], 1)
	return s
}

// noise adds a tensor of normally distributed values.
func (s *spec) noise(name string, mean, deviation float64, shape ...int) {
	n, ne := 1, make([]int64, len(shape))
	for i, d := range shape {
		n *= d
		ne[i] = int64(d)
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(mean + deviation*s.random.NormFloat64())
	}
	s.weights[name] = v
	s.list.add(name, v, ne...)
}

func (s *spec) conv(name string, k, in, out int) {
	s.noise(name+".weight", 0, 0.5/math.Sqrt(float64(k*in)), k, in, out)
	s.noise(name+".bias", 0, 0.05, out)
}

func (s *spec) affine(name string, in, out int) {
	s.noise(name+".weight", 0, 1/math.Sqrt(float64(in)), in, out)
	s.noise(name+".bias", 0, 0.1, out)
}

func (s *spec) snake(name string, n int) {
	s.noise(name+".alpha", 0, 0.3, n)
	s.noise(name+".beta", 0, 0.3, n)
}

// rig is the file of the decoder.
func (s *spec) rig() *rig {
	c, r := s.c, s.list
	r.keys = []string{"general.architecture"}
	r.values["general.architecture"] = Architecture
	r.set("output_sample_rate", int32(SampleRate))
	r.set("decode_upsample_rate", int32(c.hop()))
	ratios := []int32{}
	for _, u := range c.Upsampling {
		ratios = append(ratios, int32(u))
	}
	r.set("decoder.upsampling_ratios", ratios)
	for key, v := range map[string]int{
		"num_quantizers": c.Codebooks, "num_semantic_quantizers": c.Semantic, "codebook_size": c.CodebookSize, "latent_dim": c.Latent,
		"num_hidden_layers": c.Layers, "hidden_size": c.Width, "intermediate_size": c.FFN, "sliding_window": c.Window,
		"num_attention_heads": c.Attention.Heads, "num_key_value_heads": c.Attention.KVHeads, "head_dim": c.Attention.HeadDim,
	} {
		r.set("decoder."+key, int32(v))
	}
	r.set("decoder.rms_norm_eps", c.Eps)
	r.set("decoder.rope_theta", c.Attention.RopeBase)
	return r
}

// signal is rows of channels.
type signal [][]float64

func newSignal(rows, channels int) signal {
	x := make(signal, rows)
	for t := range x {
		x[t] = make([]float64, channels)
	}
	return x
}

// each applies f to all values, given the channel.
func (x signal) each(f func(v float64, c int) float64) signal {
	y := newSignal(len(x), len(x[0]))
	for t := range x {
		for c, v := range x[t] {
			y[t][c] = f(v, c)
		}
	}
	return y
}

func (x signal) plus(y signal) signal {
	z := newSignal(len(x), len(x[0]))
	for t := range x {
		for c := range x[t] {
			z[t][c] = x[t][c] + y[t][c]
		}
	}
	return z
}

func (s *spec) w(name string) func(i int) float64 {
	v, ok := s.weights[name]
	if !ok {
		panic(name)
	}
	return func(i int) float64 { return float64(v[i]) }
}

func (s *spec) scaled(x signal, name string) signal {
	w := s.w(name)
	return x.each(func(v float64, c int) float64 { return v * w(c) })
}

func (s *spec) decode(codes [][]int32) []float32 {
	c := s.c
	x := s.quantizer("first", codes, 0, c.Semantic).plus(s.quantizer("rest", codes, c.Semantic, c.Codebooks))
	x = s.causal("tok_dec.pre_conv", x, c.Latent, 3, 1)
	x = s.transformer(s.linear("tok_dec.pre_tfm.input_proj", x, c.Width))
	x = s.linear("tok_dec.pre_tfm.output_proj", x, c.Latent)
	for i, r := range c.Upsampling {
		p := fmt.Sprintf("tok_dec.upsample.%d.", i)
		x = s.transposed(p+"conv", x, c.Latent, r, r)
		y := s.layerNorm(p+"norm", s.depthwise(p+"dwconv", x))
		y = s.linear(p+"pwconv1", y, 4*c.Latent).each(func(v float64, _ int) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) })
		x = x.plus(s.scaled(s.linear(p+"pwconv2", y, c.Latent), p+"gamma"))
	}
	x = s.causal(blockName(0)+".conv", x, c.Channels[0], 7, 1)
	for i, stride := range c.Strides {
		p, out := blockName(i+1)+".", c.Channels[i+1]
		x = s.transposed(p+"conv_t", s.activate(p+"snake", x), out, 2*stride, stride)
		for j, dilation := range []int{1, 3, 9} {
			p := fmt.Sprintf("%sres.%d.", p, j)
			y := s.causal(p+"conv1", s.activate(p+"act1", x), out, 7, dilation)
			x = x.plus(s.causal(p+"conv2", s.activate(p+"act2", y), out, 1, 1))
		}
	}
	n := len(c.Strides)
	x = s.causal(blockName(n+2)+".conv", s.activate(blockName(n+1)+".snake", x), 1, 7, 1)
	pcm := make([]float32, len(x))
	for t := range x {
		pcm[t] = float32(min(max(x[t][0], -1), 1))
	}
	return pcm
}

func (s *spec) quantizer(side string, codes [][]int32, from, to int) signal {
	sum := newSignal(len(codes), s.c.CodebookDim)
	for k := from; k < to; k++ {
		book := s.w(fmt.Sprintf("tok_dec.vq_%s.%d.codebook", side, k-from))
		for t := range codes {
			for i := range sum[t] {
				sum[t][i] += book(int(codes[t][k])*s.c.CodebookDim + i)
			}
		}
	}
	return s.product("tok_dec.vq_"+side+".output_proj.weight", sum, s.c.RVQDim)
}

// product of a matrix stored [out][in].
func (s *spec) product(name string, x signal, out int) signal {
	w, y := s.w(name), newSignal(len(x), out)
	for t := range x {
		for o := range out {
			for i, v := range x[t] {
				y[t][o] += w(o*len(x[t])+i) * v
			}
		}
	}
	return y
}

func (s *spec) linear(name string, x signal, out int) signal {
	b := s.w(name + ".bias")
	return s.product(name+".weight", x, out).each(func(v float64, c int) float64 { return v + b(c) })
}

// causal convolution with a kernel stored [out][in][k].
func (s *spec) causal(name string, x signal, out, k, dilation int) signal {
	w, b, y := s.w(name+".weight"), s.w(name+".bias"), newSignal(len(x), out)
	for t := range x {
		for o := range out {
			y[t][o] = b(o)
			for j := range k {
				if at := t - (k-1-j)*dilation; at >= 0 {
					for i, v := range x[at] {
						y[t][o] += w((o*len(x[at])+i)*k+j) * v
					}
				}
			}
		}
	}
	return y
}

// depthwise convolution with a kernel stored [channel][k].
func (s *spec) depthwise(name string, x signal) signal {
	const k = 7
	w, b, y := s.w(name+".weight"), s.w(name+".bias"), newSignal(len(x), len(x[0]))
	for t := range x {
		for c := range x[t] {
			y[t][c] = b(c)
			for j := range k {
				if at := t - (k - 1 - j); at >= 0 {
					y[t][c] += w(c*k+j) * x[at][c]
				}
			}
		}
	}
	return y
}

// transposed convolution with a kernel stored [in][out][k]: each row adds its kernel at stride times its place.
func (s *spec) transposed(name string, x signal, out, k, stride int) signal {
	w, b, y := s.w(name+".weight"), s.w(name+".bias"), newSignal(len(x)*stride+k, out)
	for t := range x {
		for i, v := range x[t] {
			for o := range out {
				for j := range k {
					y[t*stride+j][o] += w((i*out+o)*k+j) * v
				}
			}
		}
	}
	return y[:len(x)*stride].each(func(v float64, c int) float64 { return v + b(c) })
}

func (s *spec) activate(name string, x signal) signal {
	a, b := s.w(name+".alpha"), s.w(name+".beta")
	return x.each(func(v float64, c int) float64 {
		sin := math.Sin(v * math.Exp(a(c)))
		return v + sin*sin/(math.Exp(b(c))+1e-9)
	})
}

func (s *spec) rmsNorm(name string, x signal) signal {
	y := newSignal(len(x), 0)
	for t := range x {
		square := 0.0
		for _, v := range x[t] {
			square += v * v
		}
		scale := 1 / math.Sqrt(square/float64(len(x[t]))+float64(s.c.Eps))
		y[t] = signal{x[t]}.each(func(v float64, _ int) float64 { return v * scale })[0]
	}
	return s.scaled(y, name+".weight")
}

func (s *spec) layerNorm(name string, x signal) signal {
	w, b, y := s.w(name+".weight"), s.w(name+".bias"), newSignal(len(x), 0)
	for t := range x {
		n := float64(len(x[t]))
		mean, variance := 0.0, 0.0
		for _, v := range x[t] {
			mean += v / n
		}
		for _, v := range x[t] {
			variance += (v - mean) * (v - mean) / n
		}
		y[t] = signal{x[t]}.each(func(v float64, c int) float64 { return (v-mean)/math.Sqrt(variance+1e-6)*w(c) + b(c) })[0]
	}
	return y
}

func (s *spec) transformer(x signal) signal {
	for i := range s.c.Layers {
		p := fmt.Sprintf("tok_dec.pre_tfm.blk.%d.", i)
		x = x.plus(s.scaled(s.attention(p, s.rmsNorm(p+"attn_norm", x)), p+"attn_scale"))
		h := s.rmsNorm(p+"ffn_norm", x)
		up := s.product(p+"ffn_up.weight", h, s.c.FFN)
		h = s.product(p+"ffn_gate.weight", h, s.c.FFN)
		for t := range h {
			for c, v := range h[t] {
				h[t][c] = v / (1 + math.Exp(-v)) * up[t][c]
			}
		}
		x = x.plus(s.scaled(s.product(p+"ffn_down.weight", h, s.c.Width), p+"ffn_scale"))
	}
	return s.rmsNorm("tok_dec.pre_tfm.norm", x)
}

func (s *spec) attention(p string, x signal) signal {
	a := s.c.Attention
	d, group := a.HeadDim, a.Heads/a.KVHeads
	q := s.rotated(s.product(p+"attn_q.weight", x, a.Heads*d))
	k := s.rotated(s.product(p+"attn_k.weight", x, a.KVHeads*d))
	v := s.product(p+"attn_v.weight", x, a.KVHeads*d)
	y := newSignal(len(x), a.Heads*d)
	for t := range x {
		for h := range a.Heads {
			own, shared := h*d, h/group*d
			var weights []float64
			sum, first := 0.0, max(t-s.c.Window+1, 0)
			for at := first; at <= t; at++ {
				dot := 0.0
				for i := range d {
					dot += q[t][own+i] * k[at][shared+i]
				}
				weights = append(weights, math.Exp(dot/math.Sqrt(float64(d))))
				sum += weights[at-first]
			}
			for at := first; at <= t; at++ {
				for i := range d {
					y[t][own+i] += weights[at-first] / sum * v[at][shared+i]
				}
			}
		}
	}
	return s.product(p+"attn_output.weight", y, s.c.Width)
}

// rotated turns dimension i of each head with dimension i + D/2.
func (s *spec) rotated(x signal) signal {
	d := s.c.Attention.HeadDim
	y := newSignal(len(x), len(x[0]))
	for t := range x {
		for at := 0; at < len(x[t]); at += d {
			for i := range d / 2 {
				angle := float64(t) * math.Pow(float64(s.c.Attention.RopeBase), -2*float64(i)/float64(d))
				sin, cos := math.Sincos(angle)
				a, b := x[t][at+i], x[t][at+i+d/2]
				y[t][at+i], y[t][at+i+d/2] = a*cos-b*sin, b*cos+a*sin
			}
		}
	}
	return y
}
