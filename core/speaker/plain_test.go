package speaker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOtherGeometry compares an encoder of other sizes, with random weights, with a plain computation, on clips down to
// the shortest.
func TestOtherGeometry(t *testing.T) {
	c := Config{Channels: 12, Taps: [4]int{4, 5, 3, 6}, Scale: 4, Squeeze: 5, Aggregate: 20, Attention: 7, Width: 16}
	path := random(t, c)
	e, err := load(t, testenv.CPU(t, 1), path)
	require.NoError(t, err)
	require.Equal(t, c, e.Config())
	f, err := gguf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, 11*audio.MelHop, e.MinSamples(), "6 taps at a dilation of 4 span 20, half of them after")
	for _, frames := range []int{11, 12, 37} {
		pcm := golden.PCM(t, "speech")[9000:][:frames*audio.MelHop+17]
		mel, err := audio.Mel(pcm)
		require.NoError(t, err)
		want := plain{f}.embed(mel, &c)
		got := embed(t, e, pcm)
		assert.Greater(t, golden.SNR(got, want), 100.0, "%d frames", frames)
	}
}

// random writes a file with an encoder of random weights.
func random(t *testing.T, c Config) string {
	t.Helper()
	conv := func(add map[string][]int64, name string, taps, in, out int) {
		add["spk_enc."+name+".weight"] = []int64{int64(taps), int64(in), int64(out)}
		add["spk_enc."+name+".bias"] = []int64{int64(out)}
	}
	rig := drop("spk_enc.")
	rig.Set = map[string]any{"qwen3-tts.spk_enc.embedding_length": nil, "qwen3-tts.talker.embedding_length": uint32(c.Width)}
	rig.Add = map[string][]int64{}
	conv(rig.Add, "conv0", c.Taps[0], audio.MelBands, c.Channels)
	for i := 1; i <= 3; i++ {
		blk := fmt.Sprintf("blk.%d.", i)
		conv(rig.Add, blk+"tdnn1", 1, c.Channels, c.Channels)
		for j := range c.Scale - 1 {
			conv(rig.Add, fmt.Sprintf("%sres2net.%d", blk, j), c.Taps[i], c.Channels/c.Scale, c.Channels/c.Scale)
		}
		conv(rig.Add, blk+"tdnn2", 1, c.Channels, c.Channels)
		conv(rig.Add, blk+"se.conv1", 1, c.Channels, c.Squeeze)
		conv(rig.Add, blk+"se.conv2", 1, c.Squeeze, c.Channels)
	}
	conv(rig.Add, "mfa", 1, 3*c.Channels, c.Aggregate)
	conv(rig.Add, "asp.tdnn", 1, 3*c.Aggregate, c.Attention)
	conv(rig.Add, "asp.conv", 1, c.Attention, c.Aggregate)
	conv(rig.Add, "fc", 1, 2*c.Aggregate, c.Width)
	path := golden.Rigged(t, golden.GGUF(t, "tiny-base-06", "F32"), rig)

	return golden.Rigged(t, path, golden.Rig{Tensor: func(x *gguf.TensorInfo, data []byte) bool {
		if !strings.HasPrefix(x.Name, "spk_enc.") {
			return false
		}
		r := rand.New(rand.NewPCG(uint64(len(x.Name)), uint64(x.Name[8])))
		scale := 1.0
		if n := len(x.Shape); n == 3 {
			scale = math.Sqrt(2 / float64(x.Shape[0]*x.Shape[1])) // keeps the size of what comes in
		}
		v := make([]float32, len(data)/4)
		for i := range v {
			v[i] = float32(r.NormFloat64() * scale)
		}
		half.EncodeF32(data, v)
		return true
	}})
}

// plain computes in float64, on rows [channel][time], one step at a time.
type plain struct{ f *gguf.File }

func (p plain) tensor(name string) []float32 {
	x := p.f.Tensor("spk_enc." + name)
	v := make([]float32, x.Elements())
	half.DecodeF32(v, p.f.Data(x))
	return v
}

func (p plain) conv(name string, x [][]float64, dilation int) [][]float64 {
	w, bias := p.tensor(name+".weight"), p.tensor(name+".bias")
	in, out, n := len(x), len(bias), len(x[0])
	taps := len(w) / in / out
	y := make([][]float64, out)
	for o := range y {
		y[o] = make([]float64, n)
		for t := range n {
			y[o][t] = float64(bias[o])
			for k := range taps {
				at := t + k*dilation - (taps-1)*dilation/2
				if at < 0 {
					at = -at
				}
				if at >= n {
					at = 2*(n-1) - at
				}
				for c := range in {
					y[o][t] += float64(w[(o*in+c)*taps+k]) * x[c][at]
				}
			}
		}
	}
	return y
}

// each applies f to all elements.
func each(x [][]float64, f func(v float64, c, t int) float64) [][]float64 {
	y := make([][]float64, len(x))
	for c := range x {
		y[c] = make([]float64, len(x[c]))
		for t, v := range x[c] {
			y[c][t] = f(v, c, t)
		}
	}
	return y
}

func relu(x [][]float64) [][]float64 {
	return each(x, func(v float64, _, _ int) float64 { return max(v, 0) })
}

func (p plain) tdnn(name string, x [][]float64, dilation int) [][]float64 {
	return relu(p.conv(name, x, dilation))
}

// statistics are the means [C][1], then the deviations, over time, weighted.
func statistics(x, weights [][]float64) [][]float64 {
	out := make([][]float64, 2*len(x))
	for c := range x {
		mean, variance := 0.0, 0.0
		for t, v := range x[c] {
			mean += weights[c][t] * v
		}
		for t, v := range x[c] {
			variance += weights[c][t] * (v - mean) * (v - mean)
		}
		out[c], out[len(x)+c] = []float64{mean}, []float64{math.Sqrt(max(variance, 1e-12))}
	}
	return out
}

func uniform(x [][]float64) [][]float64 {
	return each(x, func(_ float64, c, _ int) float64 { return 1 / float64(len(x[c])) })
}

func (p plain) embed(mel []float32, c *Config) []float32 {
	x := make([][]float64, audio.MelBands)
	for i, v := range mel {
		x[i%audio.MelBands] = append(x[i%audio.MelBands], float64(v))
	}
	x = p.tdnn("conv0", x, 1)
	var outs [][]float64
	for i := 1; i <= 3; i++ {
		x = p.block(fmt.Sprintf("blk.%d.", i), x, c.Scale, i+1)
		outs = append(outs, x...)
	}
	x = p.tdnn("mfa", outs, 1)

	context := each(append(append([][]float64{}, x...), make([][]float64, 2*len(x))...), func(v float64, _, _ int) float64 { return v })
	for i, s := range statistics(x, uniform(x)) {
		context[len(x)+i] = make([]float64, len(x[0]))
		for t := range context[len(x)+i] {
			context[len(x)+i][t] = s[0]
		}
	}
	a := each(p.tdnn("asp.tdnn", context, 1), func(v float64, _, _ int) float64 { return math.Tanh(v) })
	weights := each(p.conv("asp.conv", a, 1), func(v float64, _, _ int) float64 { return math.Exp(v) })
	for _, row := range weights {
		sum := 0.0
		for _, v := range row {
			sum += v
		}
		for t := range row {
			row[t] /= sum
		}
	}
	var out []float32
	for _, row := range p.conv("fc", statistics(x, weights), 1) {
		out = append(out, float32(row[0]))
	}
	return out
}

func (p plain) block(name string, x [][]float64, scale, dilation int) [][]float64 {
	y := p.tdnn(name+"tdnn1", x, 1)
	n := len(y) / scale
	res := append([][]float64{}, y[:n]...)
	for j := 1; j < scale; j++ {
		part := y[j*n : (j+1)*n]
		if j > 1 {
			last := res[(j-1)*n:]
			part = each(part, func(v float64, c, t int) float64 { return v + last[c][t] })
		}
		res = append(res, p.tdnn(fmt.Sprintf("%sres2net.%d", name, j-1), part, dilation)...)
	}
	y = p.tdnn(name+"tdnn2", res, 1)
	gate := p.conv(name+"se.conv2", p.tdnn(name+"se.conv1", statistics(y, uniform(y))[:len(y)], 1), 1)
	return each(y, func(v float64, c, t int) float64 { return v/(1+math.Exp(-gate[c][0])) + x[c][t] })
}
