package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/bpe"
)

// Layout is the way the text is laid along the prompt.
type Layout int

const (
	LayoutAuto     Layout = iota // streamed for a base model with a reference, whole otherwise
	LayoutWhole                  // the whole text before the first audio frame
	LayoutStreamed               // one text token beside each audio frame
)

// Input is what a request says about the utterance. All strings are UTF-8; a
// leading byte order mark is ignored.
type Input struct {
	Text     string
	Language string // name, alias, ISO 639 code or BCP 47 tag; "" or "auto": the model decides
	Speaker  string // one of Vocab.Speakers; "": none
	Instruct string // style in free text; blank: none

	SpeakerVector bool      // there is an x-vector
	RefText       string    // transcript of the reference; needs RefCodes
	RefCodes      [][]int32 // [frames][codebooks] of the reference; need RefText

	Layout Layout
}

// The reference implementation cuts the tokenised utterance
//
//	<|im_start|> assistant \n TEXT <|im_end|> \n <|im_start|> assistant \n
//
// by these counts, whatever the tokens are. Newlines at the start of the text
// merge with the role's and so belong to the role.
const (
	roleTokens    = 3
	tailTokens    = 5
	refTailTokens = 2 // <|im_end|> \n, where a reference transcript ends
)

// Build checks in and lays out its prompt. v must have passed [Vocab.Check] with
// tok. Which fields a model type takes at all is for the caller to decide; what
// is given is laid out. Errors are of type [*Error].
func Build(tok *bpe.Tokenizer, v *Vocab, in Input) (*Prompt, error) {
	var err error
	if in.Text, err = CheckText(in.Text); err != nil {
		return nil, err
	}
	return Assemble(tok, v, in)
}

// Assemble is Build without the check of the text. Like the reference
// implementation it takes any, even none.
func Assemble(tok *bpe.Tokenizer, v *Vocab, in Input) (*Prompt, error) {
	b := builder{Prompt: Prompt{Pad: v.Text.TTSPad, tok: tok, vocab: v}, in: in}
	for _, step := range []func() error{b.checkReference, b.checkInstruct, b.addPrefixes} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.addText()
	return &b.Prompt, nil
}

// builder lays rows out, from the first to the last.
type builder struct {
	Prompt
	in        Input
	utterance []int32 // tokens of the utterance, role and tail included
}

func (b *builder) checkReference() (err error) {
	in := &b.in
	if len(in.RefCodes) == 0 && IsBlank(in.RefText) {
		in.RefText = ""
		return nil
	}
	if len(in.RefCodes) == 0 {
		return &Error{ErrRefText, "given without the codes of a reference"}
	}
	if IsBlank(in.RefText) {
		return &Error{ErrRefText, "empty, but a reference's codes need its transcript"}
	}
	if in.RefText, err = checkSpeakable(ErrRefText, in.RefText); err != nil {
		return err
	}
	for t, frame := range in.RefCodes {
		if len(frame) != b.vocab.Codebooks {
			return &Error{ErrRefCodes, fmt.Sprintf("frame %d has %d codes, the model %d codebooks", t, len(frame), b.vocab.Codebooks)}
		}
		for k, code := range frame {
			if code < 0 || int(code) >= b.vocab.CodebookSize {
				return &Error{ErrRefCodes, fmt.Sprintf("frame %d, codebook %d: %d is outside [0, %d)", t, k, code, b.vocab.CodebookSize)}
			}
		}
	}
	b.RefCodes = in.RefCodes
	return nil
}

func (b *builder) checkInstruct() (err error) {
	in := &b.in
	if IsBlank(in.Instruct) {
		in.Instruct = ""
		return nil
	}
	if in.Instruct, err = checkUTF8(ErrInstruct, in.Instruct); err != nil {
		return err
	}
	if b.vocab.ignoresInstruct() {
		in.Instruct = ""
		b.Warnings = append(b.Warnings, "instruct: ignored, custom_voice models of size 0.6b were not trained to follow it")
	}
	return nil
}

// ignoresInstruct is true of the small custom_voice model: with an instruction in
// its prompt it falls silent.
func (v *Vocab) ignoresInstruct() bool {
	size := strings.ToLower(v.ModelSize)
	return v.ModelType == CustomVoice && (size == "0.6b" || size == "0b6")
}

// addPrefixes adds all rows before the text: instruction, role, and the codec
// prefix, which overlaps tts_pad… tts_bos.
func (b *builder) addPrefixes() error {
	v := b.vocab
	prefix, err := b.codecPrefix()
	if err != nil {
		return err
	}
	b.utterance = b.turn("assistant\n"+b.in.Text, "assistant\n")
	b.IDs = append(b.IDs, b.utterance)
	if b.in.Instruct != "" {
		instruct := b.turn("user\n"+b.in.Instruct, "")
		b.IDs = append(b.IDs, instruct)
		b.addPlain(instruct)
	}
	b.addPlain(b.utterance[:roleTokens])
	for _, row := range prefix {
		row.Text = v.Text.TTSPad
		b.Rows = append(b.Rows, row)
	}
	b.Rows = append(b.Rows, Row{Text: v.Text.TTSBOS, Codec: v.Codec.Pad, RefFrame: None})
	return nil
}

// turn tokenises <|im_start|>content<|im_end|>\n, and <|im_start|>next after it
// unless next is "". Content and next are plain text: only the ids here are special.
func (b *builder) turn(content, next string) []int32 {
	t := b.vocab.Text
	ids := append([]int32{t.IMStart}, b.tok.Encode(content)...)
	ids = append(ids, t.IMEnd)
	ids = append(ids, b.tok.Encode("\n")...)
	if next != "" {
		ids = append(ids, t.IMStart)
		ids = append(ids, b.tok.Encode(next)...)
	}
	return ids
}

// codecPrefix returns the rows, still without text, that say the language and the
// speaker: think think_bos LANGUAGE think_eos, or nothink think_bos think_eos if
// the model is to decide; then the speaker's id or x-vector.
func (b *builder) codecPrefix() ([]Row, error) {
	c := b.vocab.Codec
	speaker, err := b.vocab.speaker(b.in.Speaker)
	if err != nil {
		return nil, err
	}
	language, err := b.vocab.language(b.in.Language, speaker)
	if err != nil {
		return nil, err
	}
	var rows []Row
	b.Language = auto
	ids := []int32{c.NoThink, c.ThinkBOS, c.ThinkEOS}
	if language != nil {
		b.Language = language.Name
		ids = []int32{c.Think, c.ThinkBOS, language.ID, c.ThinkEOS}
	}
	for _, id := range ids {
		rows = append(rows, Row{Codec: id, RefFrame: None})
	}
	switch {
	case speaker != nil:
		b.Speaker = speaker.Name
		rows = append(rows, Row{Codec: speaker.ID, RefFrame: None})
	case b.in.SpeakerVector:
		rows = append(rows, Row{Codec: None, RefFrame: None, Speaker: true})
	}
	return rows, nil
}

// addText adds the rows of the text and sets the overlay.
func (b *builder) addText() {
	body := b.utterance[roleTokens : len(b.utterance)-tailTokens]
	b.TextTokens = len(body)
	b.Overlay = []int32{b.Pad}
	switch {
	case len(b.RefCodes) > 0:
		b.addReference(body)
	case b.streamed():
		b.addFirstToken()
	default:
		b.addWhole(body)
		b.Rows = append(b.Rows, Row{Text: b.Pad, Codec: b.vocab.Codec.BOS, RefFrame: None})
	}
}

func (b *builder) streamed() bool {
	if b.in.Layout != LayoutAuto {
		return b.in.Layout == LayoutStreamed
	}
	return b.vocab.ModelType == Base && (b.in.SpeakerVector || len(b.RefCodes) > 0)
}

// addWhole adds text and tts_eos, each with codec_pad.
func (b *builder) addWhole(text []int32) {
	for _, id := range text {
		b.Rows = append(b.Rows, Row{Text: id, Codec: b.vocab.Codec.Pad, RefFrame: None})
	}
	b.Rows = append(b.Rows, Row{Text: b.vocab.Text.TTSEOS, Codec: b.vocab.Codec.Pad, RefFrame: None})
}

// addFirstToken adds the first token of the text with codec_bos and leaves the
// rest to the overlay. Without any text the first token is <|im_end|>, as in the
// reference implementation.
func (b *builder) addFirstToken() {
	first, rest := b.utterance[roleTokens], []int32(nil)
	if end := len(b.utterance) - tailTokens; end > roleTokens {
		rest = b.utterance[roleTokens+1 : end]
	}
	b.Rows = append(b.Rows, Row{Text: first, Codec: b.vocab.Codec.BOS, RefFrame: None})
	b.Overlay = append(slices.Clone(rest), b.vocab.Text.TTSEOS)
}

// addReference adds the in-context prompt: the reference's transcript and the text
// with tts_eos on the text side, codec_bos and the reference's frames on the codec
// side. Whole, one side comes after the other. Streamed, they run side by side;
// text that outlasts the frames goes to the overlay.
func (b *builder) addReference(body []int32) {
	transcript := b.turn("assistant\n"+b.in.RefText, "")
	b.IDs = append(b.IDs, transcript)
	text := slices.Concat(transcript[roleTokens:len(transcript)-refTailTokens], body)

	frames := []Row{{Text: b.Pad, Codec: b.vocab.Codec.BOS, RefFrame: None}}
	for t := range b.RefCodes {
		frames = append(frames, Row{Text: b.Pad, Codec: None, RefFrame: int32(t)})
	}
	if !b.streamed() {
		b.addWhole(text)
		b.Rows = append(b.Rows, frames...)
		return
	}
	text = append(text, b.vocab.Text.TTSEOS)
	for i := range min(len(text), len(frames)) {
		frames[i].Text = text[i]
	}
	b.Rows = append(b.Rows, frames...)
	if len(text) > len(frames) {
		b.Overlay = text[len(frames):]
	}
}

// addPlain adds text that has nothing on the codec side.
func (b *builder) addPlain(text []int32) {
	for _, id := range text {
		b.Rows = append(b.Rows, Row{Text: id, Codec: None, RefFrame: None})
	}
}
