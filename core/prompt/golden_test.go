package prompt_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	textEmbedding  = "talker.model.text_embedding.weight"
	codecEmbedding = "talker.model.codec_embedding.weight"
	textProjection = "talker.text_projection.linear_fc"
)

// maxError is the largest difference allowed between an embedding computed here in
// float64 and the reference's in float32.
const maxError = 1e-4

// TestGolden lays out every golden case, compares the ids, and compares the rows by
// the embeddings they stand for.
func TestGolden(t *testing.T) {
	models := map[string]*tinyModel{}
	cases := golden.Cases(t)
	require.Greater(t, len(cases), 25)
	for name, c := range cases {
		if models[c.Model] == nil {
			models[c.Model] = loadTiny(t, c.Model)
		}
		t.Run(name, func(t *testing.T) { checkCase(t, models[c.Model], c, golden.Load(t, name)) })
	}
}

func checkCase(t *testing.T, m *tinyModel, c golden.Case, want *golden.Arrays) {
	in := inputOf(c, want)
	p, err := prompt.Assemble(m.tok, m.vocab, in)
	require.NoError(t, err)

	require.Len(t, p.IDs, len(c.Prompts))
	for i, got := range p.IDs {
		ids, _ := want.I32(fmt.Sprintf("prompt%d_ids", i))
		assert.Equal(t, ids, got, "prompt %d", i)
	}
	e := &embedder{tinyModel: m, xvector: xvectorOf(want)}
	checkRows(t, want, "prefill_embeds", e.rows(p))
	checkRows(t, want, "trailing_text_hidden", e.texts(p.Overlay))
	checkRows(t, want, "tts_pad_embed", e.texts([]int32{p.Pad}))
	assert.Equal(t, c.PrefillLen, p.Tokens())

	ignored := c.Model == "tiny-customvoice-06" && in.Instruct != ""
	assert.Equal(t, ignored, len(p.Warnings) > 0)
	if c.Text != "" {
		built, err := prompt.Build(m.tok, m.vocab, in)
		require.NoError(t, err)
		assert.Equal(t, p, built)
	}
}

func inputOf(c golden.Case, arrays *golden.Arrays) prompt.Input {
	in := prompt.Input{
		Text: c.Text, Language: c.Language, Speaker: c.Speaker, RefText: c.RefText,
		SpeakerVector: arrays.Has("ref_xvector"), Layout: prompt.LayoutStreamed,
	}
	if c.NonStreaming {
		in.Layout = prompt.LayoutWhole
	}
	if c.Instruct != nil {
		in.Instruct = *c.Instruct
	}
	if arrays.Has("ref_codes") {
		codes, shape := arrays.I32("ref_codes")
		in.RefCodes = slices.Collect(slices.Chunk(codes, shape[1]))
	}
	return in
}

func xvectorOf(arrays *golden.Arrays) []float64 {
	if !arrays.Has("ref_xvector") {
		return nil
	}
	v, _ := arrays.F32("ref_xvector")
	return widen(v)
}

func widen(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}

func checkRows(t *testing.T, want *golden.Arrays, name string, got [][]float64) {
	t.Helper()
	data, shape := want.F32(name)
	width := shape[len(shape)-1]
	require.Len(t, got, len(data)/width, name)
	for i, row := range got {
		for j, x := range row {
			if d := math.Abs(x - float64(data[i*width+j])); !(d <= maxError) {
				require.Failf(t, name, "row %d, channel %d: off by %g", i, j, d)
			}
		}
	}
}

// embedder turns ids into embeddings as wide as the Talker.
type embedder struct {
	*tinyModel
	xvector []float64
	cache   map[int32][]float64
}

func (e *embedder) rows(p *prompt.Prompt) [][]float64 {
	var out [][]float64
	for _, r := range p.Rows {
		x := e.text(r.Text)
		switch {
		case r.Speaker:
			x = add(x, e.xvector)
		case r.RefFrame != prompt.None:
			x = add(x, e.frame(p.RefCodes[r.RefFrame]))
		case r.Codec != prompt.None:
			x = add(x, e.tensors[codecEmbedding].row(int(r.Codec)))
		}
		out = append(out, x)
	}
	return out
}

func (e *embedder) texts(ids []int32) [][]float64 {
	var out [][]float64
	for _, id := range ids {
		out = append(out, e.text(id))
	}
	return out
}

// text is fc2 silu(fc1 embedding).
func (e *embedder) text(id int32) []float64 {
	if x, ok := e.cache[id]; ok {
		return x
	}
	layer := func(n string, x []float64) []float64 {
		return add(e.tensors[textProjection+n+".weight"].apply(x), e.tensors[textProjection+n+".bias"].data)
	}
	h := layer("1", e.tensors[textEmbedding].row(int(id)))
	for i, x := range h {
		h[i] = x / (1 + math.Exp(-x))
	}
	if e.cache == nil {
		e.cache = map[int32][]float64{}
	}
	e.cache[id] = layer("2", h)
	return e.cache[id]
}

// frame sums the embeddings of a frame's codes: codebook 0 in the Talker's table,
// the others in the CodePredictor's.
func (e *embedder) frame(codes []int32) []float64 {
	x := e.tensors[codecEmbedding].row(int(codes[0]))
	for i, c := range codes[1:] {
		x = add(x, e.tensors[fmt.Sprintf("talker.code_predictor.model.codec_embedding.%d.weight", i)].row(int(c)))
	}
	return x
}
