package lm

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// split loads a tiny model from the files of the second family.
func split(t *testing.T, name, typ string) *Model {
	t.Helper()
	talker, predictor, tokenizer := golden.Second(t, name, typ).Write(t, t.TempDir(), "tiny")
	f, _, err := model.OpenLM(model.Paths{Talker: talker, Predictor: predictor, Tokenizer: tokenizer}, "")
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	m, err := Load(testenv.CPU(t, 1), f, Options{})
	require.NoError(t, err)
	t.Cleanup(m.Free)
	return m
}

// sessions of a model after a short prompt.
func sessions(t *testing.T, m *Model, probe Probe) (*Talker, *CodePredictor) {
	t.Helper()
	talker, err := m.NewTalker(128, nil)
	require.NoError(t, err)
	t.Cleanup(talker.Close)
	p := &prompt.Prompt{Overlay: []int32{1}, Pad: 1}
	for i := range int32(5) {
		p.Rows = append(p.Rows, prompt.Row{Text: i, Codec: i, RefFrame: prompt.None})
	}
	_, err = talker.Prefill(context.Background(), p, nil)
	require.NoError(t, err)
	predictor, err := m.NewCodePredictor(talker.Hidden(), probe)
	require.NoError(t, err)
	t.Cleanup(predictor.Close)
	return talker, predictor
}

func greedy(m *Model) *sample.Sampler {
	return sample.New(sample.Config{Talker: sample.Params{TopP: 1, RepetitionPenalty: 1}, Predictor: sample.Params{TopP: 1}, Vocab: m.CodecVocab, EOS: int32(m.CodecVocab - 1)})
}

// TestSplitWidthProjectionPreservesTalkerEmbeddings: two widths; both rows of the first step are weight and bias
// applied to what is as wide as the Talker; with equal widths they are what went in.
func TestSplitWidthProjectionPreservesTalkerEmbeddings(t *testing.T) {
	for _, name := range []string{"tiny-customvoice-17", "tiny-customvoice-06"} {
		m := split(t, name, "F32")
		stages := map[string][]float32{}
		_, predictor := sessions(t, m, func(stage string, _ []int, values []float32) {
			if stages[stage] == nil { // of the first step
				stages[stage] = values
			}
		})
		_, err := predictor.Frame(3, 0, greedy(m))
		require.NoError(t, err)
		in, out := stages["cp_in"], stages["cp_mtp_out"]
		require.Len(t, in, 2*m.Talker.Width)
		require.Len(t, out, 2*m.Predictor.Width)
		for _, table := range append([]ggml.Tensor{m.talker.CodecEmbd}, m.predictor.CodecEmbd...) {
			assert.Equal(t, m.Talker.Width, table.Dim(0), "codec embeddings are as wide as the Talker")
		}
		if m.Talker.Width == m.Predictor.Width {
			assert.False(t, m.predictor.Proj.Valid())
			assert.Equal(t, in, out)
			continue
		}
		assert.Equal(t, []int{256, 128}, []int{m.Talker.Width, m.Predictor.Width})
		golden.Check(t, "cp_f0_mtp_out", out, projected(t, name, in, m.Talker.Width, m.Predictor.Width))
	}
}

// projected is W·x + b of each row of x, by the tensors of the file.
func projected(t *testing.T, name string, x []float32, in, out int) []float32 {
	t.Helper()
	f, err := model.Open(golden.GGUF(t, name, "F32"), Architecture, "talker")
	require.NoError(t, err)
	defer f.Close()
	l := nn.NewLoader(testenv.CPU(t, 1), f)
	defer l.Abandon()
	w, err := l.Floats(f.Tensor("code_pred.mtp_proj.weight"))
	require.NoError(t, err)
	b, err := l.Floats(f.Tensor("code_pred.mtp_proj.bias"))
	require.NoError(t, err)
	var y []float32
	for row := 0; row < len(x); row += in {
		for o := range out {
			sum := float64(b[o])
			for i := range in {
				sum += float64(w[o*in+i]) * float64(x[row+i])
			}
			y = append(y, float32(sum))
		}
	}
	return y
}

// TestPredictorCachedAndRecomputeMatch: the logits of every codebook are those that all its positions give at once,
// without what was kept of the earlier ones; with and without a projection, at full and at half precision.
func TestPredictorCachedAndRecomputeMatch(t *testing.T) {
	for _, name := range []string{"tiny-customvoice-17", "tiny-customvoice-06"} {
		for typ, tolerance := range map[string]float64{"F32": 2e-4, "F16": 3e-2} {
			m := split(t, name, typ)
			talker, predictor := sessions(t, m, nil)
			cached := make([][]float32, 0, m.Codebooks-1)
			codes := []int32{3}
			for k := range m.Codebooks - 1 {
				codes = append(codes, int32((7*k+1)%m.CodebookSize))
			}
			require.NoError(t, predictor.Score(codes, func(_ int, logits []float32) {
				cached = append(cached, append([]float32(nil), logits...))
			}))
			for k, want := range cached {
				got := m.recompute(t, talker.Hidden(), codes[:k+1])
				worst := golden.MaxAbs(got, want)
				assert.True(t, worst <= tolerance, "%s %s: codebook %d differs by %v", name, typ, k+1, worst)
				assert.False(t, math.IsNaN(worst))
			}
		}
	}
}

// recompute is the logits that follow codes, from all positions in one graph.
func (m *Model) recompute(t *testing.T, hidden ggml.Tensor, codes []int32) []float32 {
	t.Helper()
	cache, err := nn.NewCache(m.be, m.Predictor.Layers, m.Codebooks, m.cacheType, m.Predictor.AttentionConfig)
	require.NoError(t, err)
	defer cache.Free()
	ids := make([]ggml.Tensor, len(codes))
	var span *nn.Span
	var logits ggml.Tensor
	g, err := ggml.Build(m.be, m.predictor.nodes(), false, func(b *ggml.Builder) {
		x := b.Use(hidden)
		for i := range codes {
			ids[i] = b.Input("code", ggml.I32, 1)
			table := m.talker.CodecEmbd
			if i > 0 {
				table = m.predictor.CodecEmbd[i-1]
			}
			x = x.Concat(ids[i].GetRows(table), 1)
		}
		span = cache.FixedSpan(b, 0, len(codes)+1)
		x = m.predictor.Forward(m.project(x), span, "")
		x = m.predictor.OutputNorm.Forward(x, m.Predictor.Eps)
		logits = b.Output("logits", m.predictor.Heads[len(codes)-1].Forward(last(x, 1)))
	})
	require.NoError(t, err)
	defer g.Free()
	for i, id := range ids {
		id.SetI32(codes[i : i+1])
	}
	span.SetFixed()
	require.NoError(t, g.Compute())
	v := make([]float32, m.CodebookSize)
	logits.GetF32(v)
	return v
}
