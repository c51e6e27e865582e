package codec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEncoderGeometries encodes with random weights of other geometries than the published one, and compares with the
// plain computation below.
func TestEncoderGeometries(t *testing.T) {
	for name, c := range map[string]EncoderConfig{
		"grouped heads, two units a stage": {
			Hop: 240, Codebooks: 5, Semantic: 2, CodebookSize: 40, CodebookDim: 6,
			Channels: []int{3, 6, 12, 24}, Strides: []int{5, 8, 3}, Residuals: 2, Growth: 3, Compress: 3,
			Kernels: SEANetKernels{First: 5, Residual: 3, Last: 2},
			Layers:  2, Width: 10, FFN: 14, Eps: 1e-6,
			Attention:    nn.AttentionConfig{Heads: 4, KVHeads: 2, HeadDim: 6, RopeBase: 100},
			Downsampling: 2, downsampleBias: true,
		},
		"one stage, one head, no downsampling": {
			Hop: 256, Codebooks: 2, Semantic: 1, CodebookSize: 7, CodebookDim: 4,
			Channels: []int{4, 8}, Strides: []int{256}, Residuals: 1, Growth: 2, Compress: 1,
			Kernels: SEANetKernels{First: 1, Residual: 1, Last: 1},
			Layers:  1, Width: 6, FFN: 5, Eps: 1e-6,
			Attention:    nn.AttentionConfig{Heads: 1, KVHeads: 1, HeadDim: 2, RopeBase: 10000},
			Downsampling: 1, outputs: true,
		},
		"downsampling by three, many layers": {
			Hop: 360, Codebooks: 3, Semantic: 1, CodebookSize: 16, CodebookDim: 8,
			Channels: []int{2, 4, 8, 16}, Strides: []int{4, 1, 30}, Residuals: 3, Growth: 2, Compress: 2,
			Kernels: SEANetKernels{First: 7, Residual: 3, Last: 3},
			Layers:  24, Width: 16, FFN: 20, Eps: 1e-6,
			Attention:    nn.AttentionConfig{Heads: 2, KVHeads: 2, HeadDim: 8, RopeBase: 1000},
			Downsampling: 3, downsampleBias: true, outputs: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEncoderSpec(c)
			e, err := loadEncoder(t, s.rig().write(t), 1)
			require.NoError(t, err)
			assert.Equal(t, c, e.Config())
			for _, samples := range []int{1, c.Hop - 1, c.Hop, c.Hop + 1, 5*c.Hop - c.Hop/2, 5*c.Hop - c.Hop/2 + 1, 11*c.Hop + 7} {
				pcm := noise(samples)
				codes, latents := latentsIn(t, e, pcm, 4)
				want := s.latents(pcm)
				require.Len(t, codes, (samples+c.Hop-1)/c.Hop)
				snr := golden.SNR(latents, want.channels())
				assert.Greater(t, snr, 100.0, samples)
				s.checkCodes(t, codes, want)
				if samples == 5*c.Hop-c.Hop/2 {
					t.Logf("%d samples: %.1f dB", samples, snr)
				}
			}
			checkNodes(t, e)
		})
	}
}

// checkNodes: the graph has room for its nodes, taps included.
func checkNodes(t *testing.T, e *Encoder) {
	s, err := e.newEncoding(e.Hop()-1, &encoderTaps{})
	require.NoError(t, err)
	defer s.close()
	p, err := s.prepare(e.Hop() - 1) // nothing is whole
	require.NoError(t, err)
	assert.Less(t, p.graph.Nodes(), maxEncoderNodes(&e.cfg))
	t.Logf("%d nodes of %d", p.graph.Nodes(), maxEncoderNodes(&e.cfg))
}

// encoderSpec is an encoder with random weights, and how it encodes, in float64 and as plainly as possible.
type encoderSpec struct {
	spec
	e EncoderConfig
}

func newEncoderSpec(c EncoderConfig) *encoderSpec {
	s := &encoderSpec{e: c, spec: spec{
		c:       DecoderConfig{Attention: c.Attention, Width: c.Width, Window: math.MaxInt32}, // for spec's attention
		weights: map[string][]float32{}, list: &rig{values: map[string]any{}}, random: rand.New(rand.NewPCG(8, 9)),
	}}
	s.conv("tok_enc.conv.0", c.Kernels.First, 1, c.Channels[0])
	at := 1
	for i, stride := range c.Strides {
		in, out := c.Channels[i], c.Channels[i+1]
		for range c.Residuals {
			s.conv(fmt.Sprintf("tok_enc.res.%d.blk.1", at), c.Kernels.Residual, in, in/c.Compress)
			s.conv(fmt.Sprintf("tok_enc.res.%d.blk.3", at), 1, in/c.Compress, in)
			at++
		}
		s.conv(fmt.Sprintf("tok_enc.conv.%d", at+1), 2*stride, in, out)
		at += 2
	}
	s.conv(fmt.Sprintf("tok_enc.conv.%d", at+1), c.Kernels.Last, c.Channels[len(c.Strides)], c.Width)
	q, kv := c.Attention.Heads*c.Attention.HeadDim, c.Attention.KVHeads*c.Attention.HeadDim
	for i := range c.Layers {
		p := fmt.Sprintf("tok_enc.blk.%d.", i)
		for _, v := range []string{"attn_norm.weight", "ffn_norm.weight", "attn_norm.bias", "ffn_norm.bias", "attn_scale", "ffn_scale"} {
			s.noise(p+v, 0.5, 0.1, c.Width)
		}
		for _, m := range []struct {
			name    string
			in, out int
		}{{"attn_q", c.Width, q}, {"attn_k", c.Width, kv}, {"attn_v", c.Width, kv}, {"attn_output", q, c.Width},
			{"ffn_up", c.Width, c.FFN}, {"ffn_down", c.FFN, c.Width}} {
			s.noise(p+m.name+".weight", 0, 1/math.Sqrt(float64(m.in)), m.in, m.out)
		}
	}
	s.noise("tok_enc.downsample.weight", 0, 0.3, 2*c.Downsampling, c.Width, c.Width)
	if c.downsampleBias {
		s.noise("tok_enc.downsample.bias", 0, 0.3, c.Width)
	}
	for _, side := range s.sides() {
		s.noise("tok_enc.vq_"+side.name+".input_proj.weight", 0, 0.5, 1, c.Width, c.CodebookDim)
		if c.outputs {
			s.noise("tok_enc.vq_"+side.name+".output_proj.weight", 0, 0.5, 1, c.CodebookDim, c.Width)
		}
		for k := range side.books {
			s.noise(fmt.Sprintf("tok_enc.vq_%s.%d.codebook", side.name, k), 0, 1, c.CodebookDim, c.CodebookSize)
		}
	}
	return s
}

// side is one of the quantisers.
type side struct {
	name         string
	first, books int
}

func (s *encoderSpec) sides() []side {
	return []side{{"semantic", 0, s.e.Semantic}, {"acoustic", s.e.Semantic, s.e.Codebooks - s.e.Semantic}}
}

// rig is the file of the encoder.
func (s *encoderSpec) rig() *rig {
	c, r := s.e, s.list
	r.keys = []string{"general.architecture"}
	r.values["general.architecture"] = Architecture
	r.set("encode_downsample_rate", int32(c.Hop))
	r.set("encoder_valid_num_quantizers", int32(c.Codebooks))
	ratios := []int32{}
	for i := range c.Strides {
		ratios = append(ratios, int32(c.Strides[len(c.Strides)-1-i]))
	}
	r.set("encoder.upsampling_ratios", ratios)
	for key, v := range map[string]int{
		"num_semantic_quantizers": c.Semantic, "num_filters": c.Channels[0], "num_residual_layers": c.Residuals,
		"dilation_growth_rate": c.Growth, "compress": c.Compress, "kernel_size": c.Kernels.First,
		"residual_kernel_size": c.Kernels.Residual, "last_kernel_size": c.Kernels.Last,
		"num_hidden_layers": c.Layers, "hidden_size": c.Width, "intermediate_size": c.FFN,
		"num_attention_heads": c.Attention.Heads, "num_key_value_heads": c.Attention.KVHeads, "head_dim": c.Attention.HeadDim,
	} {
		r.set("encoder."+key, int32(v))
	}
	r.set("encoder.norm_eps", c.Eps)
	r.set("encoder.rope_theta", c.Attention.RopeBase)
	return r
}

// latents of some audio, before the quantisers.
func (s *encoderSpec) latents(pcm []float32) signal {
	c, x := s.e, newSignal(len(pcm), 1)
	for t, v := range pcm {
		x[t][0] = float64(v)
	}
	x = s.causal("tok_enc.conv.0", x, c.Channels[0], c.Kernels.First, 1)
	at := 1
	for i, stride := range c.Strides {
		dilation := 1
		for range c.Residuals {
			p := fmt.Sprintf("tok_enc.res.%d.blk.", at)
			y := s.causal(p+"1", elu(x), c.Channels[i]/c.Compress, c.Kernels.Residual, dilation)
			x = x.plus(s.causal(p+"3", elu(y), c.Channels[i], 1, 1))
			dilation *= c.Growth
			at++
		}
		name := fmt.Sprintf("tok_enc.conv.%d", at+1)
		nothing := make([]float64, c.Channels[i])
		x = s.strided(name, elu(x), s.w(name+".bias"), c.Channels[i+1], stride, nothing, nothing)
		at += 2
	}
	x = s.causal(fmt.Sprintf("tok_enc.conv.%d", at+1), elu(x), c.Width, c.Kernels.Last, 1)
	for i := range c.Layers {
		p := fmt.Sprintf("tok_enc.blk.%d.", i)
		x = x.plus(s.scaled(s.attention(p, s.layerNorm(p+"attn_norm", x)), p+"attn_scale"))
		h := s.product(p+"ffn_up.weight", s.layerNorm(p+"ffn_norm", x), c.FFN)
		h = h.each(func(v float64, _ int) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) })
		x = x.plus(s.scaled(s.product(p+"ffn_down.weight", h, c.Width), p+"ffn_scale"))
	}
	bias := func(int) float64 { return 0 }
	if c.downsampleBias {
		bias = s.w("tok_enc.downsample.bias")
	}
	return s.strided("tok_enc.downsample", x, bias, c.Width, c.Downsampling, x[0], x[len(x)-1])
}

func elu(x signal) signal {
	return x.each(func(v float64, _ int) float64 { return max(v, 0) + math.Expm1(min(v, 0)) })
}

// strided convolution with a kernel of twice the stride; before and after stand for the rows that x does not have.
func (s *encoderSpec) strided(name string, x signal, bias func(int) float64, out, stride int, before, after []float64) signal {
	w, k := s.w(name+".weight"), 2*stride
	y := newSignal((len(x)+stride-1)/stride, out)
	for t := range y {
		for o := range out {
			y[t][o] = bias(o)
			for j := range k {
				row := before
				if at := t*stride + j - stride; at >= len(x) {
					row = after
				} else if at >= 0 {
					row = x[at]
				}
				for i, v := range row {
					y[t][o] += w((o*len(row)+i)*k+j) * v
				}
			}
		}
	}
	return y
}

// channels of a signal, one after the other.
func (x signal) channels() (flat []float32) {
	for c := range x[0] {
		for t := range x {
			flat = append(flat, float32(x[t][c]))
		}
	}
	return flat
}

// checkCodes: no other entry is nearer to what the ones before have left of the latent.
func (s *encoderSpec) checkCodes(t *testing.T, codes [][]int32, latents signal) {
	for _, side := range s.sides() {
		residuals := s.product("tok_enc.vq_"+side.name+".input_proj.weight", latents, s.e.CodebookDim)
		for frame, r := range residuals {
			require.Len(t, codes[frame], s.e.Codebooks)
			for k := range side.books {
				book := s.w(fmt.Sprintf("tok_enc.vq_%s.%d.codebook", side.name, k))
				distance := func(id int) (d float64) {
					for i, v := range r {
						d += (v - book(id*len(r)+i)) * (v - book(id*len(r)+i))
					}
					return d
				}
				id, nearest := int(codes[frame][side.first+k]), math.Inf(1)
				for i := range s.e.CodebookSize {
					nearest = min(nearest, distance(i))
				}
				require.InDelta(t, nearest, distance(id), 1e-4, "frame %d, %s codebook %d", frame, side.name, k)
				for i := range r {
					r[i] -= book(id*len(r) + i)
				}
			}
		}
	}
}
