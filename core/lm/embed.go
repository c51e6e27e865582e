package lm

import (
	"fmt"

	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/ggml"
)

// frameEmbedding is the sum of the embeddings of a frame's codes -> [E, N]; ids(k) are the ids [N] of codebook k.
func (m *Model) frameEmbedding(ids func(k int) ggml.Tensor) ggml.Tensor {
	x := ids(0).GetRows(m.talker.CodecEmbd)
	for k, table := range m.predictor.CodecEmbd {
		x = x.Add(ids(k + 1).GetRows(table))
	}
	return x
}

// rowInputs embeds prompt rows. The codec side of the rows is gathered from a table made for the purpose:
// column 0 is zero (rows without a codec side), column 1 the x-vector, then the codec ids of these rows, then their
// reference frames.
type rowInputs struct {
	m      *Model
	text   ggml.Tensor // I32 [N]
	given  ggml.Tensor // F32 [E, 2]: zeros and the x-vector
	codec  ggml.Tensor // I32 [ids], none if there are none
	frames ggml.Tensor // I32 [frames, codebooks], none if there are none
	pick   ggml.Tensor // I32 [N]: column of the table
}

// rowInputs declares the inputs for rows.
func (m *Model) rowInputs(b *ggml.Builder, p *prompt.Prompt, rows []prompt.Row) *rowInputs {
	in := &rowInputs{m: m, text: b.Input("text", ggml.I32, len(rows)), given: b.Input("given", ggml.F32, m.Talker.Width, 2),
		pick: b.Input("pick", ggml.I32, len(rows))}
	ids, frames := count(rows)
	if ids > 0 {
		in.codec = b.Input("codec", ggml.I32, ids)
	}
	if frames > 0 {
		in.frames = b.Input("frames", ggml.I32, frames, m.Codebooks)
	}
	return in
}

// count the rows with a codec id and with a reference frame.
func count(rows []prompt.Row) (ids, frames int) {
	for _, r := range rows {
		switch {
		case r.RefFrame != prompt.None:
			frames++
		case r.Codec != prompt.None:
			ids++
		}
	}
	return ids, frames
}

// embed is text_proj(text_embd[text]) + codec side -> [E, N].
func (in *rowInputs) embed() ggml.Tensor {
	table := in.given
	if in.codec.Valid() {
		table = table.Concat(in.codec.GetRows(in.m.talker.CodecEmbd), 1)
	}
	if in.frames.Valid() {
		n := in.frames.Dim(0)
		sum := in.m.frameEmbedding(func(k int) ggml.Tensor { return in.frames.Slice(1, k, 1).Reshape(n) })
		table = table.Concat(sum, 1)
	}
	return in.m.embedText(in.text).Add(in.pick.GetRows(table))
}

// embedText is text_proj(text_embd[ids]) -> [E, N].
func (m *Model) embedText(ids ggml.Tensor) ggml.Tensor {
	return m.talker.TextProj.Forward(ids.GetRows(m.talker.TextEmbd.Tensor))
}

// set uploads the inputs.
func (in *rowInputs) set(p *prompt.Prompt, rows []prompt.Row, xvector []float32) error {
	ids, frames := count(rows)
	text, pick := make([]int32, len(rows)), make([]int32, len(rows))
	codec, ref := make([]int32, 0, ids), make([]int32, frames*in.m.Codebooks)
	frame := 0
	for i, r := range rows {
		text[i] = r.Text
		switch {
		case r.RefFrame != prompt.None:
			for k, c := range p.RefCodes[r.RefFrame] {
				ref[k*frames+frame] = c
			}
			pick[i] = int32(2 + ids + frame)
			frame++
		case r.Codec != prompt.None:
			pick[i] = int32(2 + len(codec))
			codec = append(codec, r.Codec)
		case r.Speaker:
			pick[i] = 1
		}
	}
	if err := in.m.talker.TextEmbd.Check(text); err != nil {
		return err
	}
	in.text.SetI32(text)
	in.pick.SetI32(pick)
	in.given.SetF32At(in.m.Talker.Width, xvector)
	if in.codec.Valid() {
		in.codec.SetI32(codec)
	}
	if in.frames.Valid() {
		in.frames.SetI32(ref)
	}
	return nil
}

// embedOverlay computes the next piece of what the text adds to the embeddings of the generated frames: one row for each
// text token that is still to come, and a last one, tts_pad, for all frames after.
func (t *Talker) embedOverlay(l *lane) error {
	p, width := l.prompt, t.m.Talker.Width
	n := len(p.Overlay)
	ids := append(append([]int32(nil), p.Overlay...), p.Pad)[l.read:]
	ids = ids[:min(prefillChunk, len(ids))]
	if err := t.project(ids, l.overlay[l.read*width:][:len(ids)*width]); err != nil {
		return fmt.Errorf("talker: text overlay: %w", err)
	}
	l.read += len(ids)
	if t.probe != nil && l.read == n+1 {
		t.probe("trailing_text_hidden", []int{width, n}, l.overlay[:n*width])
		t.probe("tts_pad_embed", []int{width}, l.overlay[n*width:])
	}
	return nil
}

// project embeds text ids into out [E] a row.
func (t *Talker) project(ids []int32, out []float32) error {
	if err := t.m.talker.TextEmbd.Check(ids); err != nil {
		return err
	}
	var in, x ggml.Tensor
	g, err := ggml.Build(t.m.be, 64, false, func(b *ggml.Builder) {
		in = b.Input("ids", ggml.I32, len(ids))
		x = b.Output("embeddings", t.m.embedText(in))
	})
	if err != nil {
		return err
	}
	defer g.Free()
	in.SetI32(ids)
	if err := g.Compute(); err != nil {
		return err
	}
	x.GetF32(out)
	return nil
}
