// Package prompt lays out what the Talker reads before it speaks: text and codec
// ids, row by row. It knows nothing of tensors; a [Prompt] is data to look at.
//
// The layout is that of the reference implementation (Qwen3TTSForConditionalGeneration.generate):
//
//	instruct   <|im_start|>user\n … <|im_end|>\n                    if there is an instruction
//	role       <|im_start|>assistant\n                              3 rows
//	prefix     tts_pad… tts_bos  +  think, language, speaker, pad   one codec id (or the x-vector) a row
//	text       the text, tts_eos +  codec_pad, then codec_bos       whole, or beside the audio frames
package prompt

import (
	"github.com/libqwen/libqwen/core/bpe"
)

// None stands in a [Row] for the absence of an id.
const None = -1

// Row is one position of the prompt. Its embedding, as wide as the Talker, is the
// projected embedding of Text, plus at most one of: the embedding of Codec, the
// sum of the codebook embeddings of a reference frame, the speaker's x-vector.
type Row struct {
	Text     int32 // text token
	Codec    int32 // row of the Talker's codec embedding, or None
	RefFrame int32 // index into Prompt.RefCodes, or None
	Speaker  bool  // the x-vector
}

// Prompt is the Talker's input.
type Prompt struct {
	Rows []Row // the prefill, one position each

	// Overlay has the text token that is added to each generated frame's
	// embedding: Overlay[t] for frame t, Pad for every frame after the last.
	Overlay []int32
	Pad     int32 // tts_pad

	RefCodes [][]int32 // [frames][codebooks], the reference frames that rows name

	IDs        [][]int32 // token ids of the strings tokenised: utterance, then instruction, then reference text
	TextTokens int       // tokens of the text to speak

	Language string // the language that took effect, a name of the model file, or "auto"
	Speaker  string // the named speaker, "" if there is none
	Warnings []string

	tok   *bpe.Tokenizer // for String
	vocab *Vocab
}

// Tokens returns the number of positions that the prefill takes in the context.
func (p *Prompt) Tokens() int { return len(p.Rows) }

// TextAt returns the text token that goes with generated frame t, counted from 0.
func (p *Prompt) TextAt(t int) int32 {
	if t < len(p.Overlay) {
		return p.Overlay[t]
	}
	return p.Pad
}
