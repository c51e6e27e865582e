package prompt

import (
	"slices"
	"strings"
	"testing"

	"github.com/libqwen/libqwen/core/bpe"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Special tokens of the toy vocabulary, behind the bytes and the merged tokens.
const (
	imStart = 300 + iota
	imEnd
	ttsPad
	ttsBOS
	ttsEOS
)

// toy returns a vocabulary for the tests here, and its tokenizer.
func toy(t testing.TB) (*bpe.Tokenizer, *Vocab) {
	tok := toyTokenizer(t, "assistant")
	v := &Vocab{
		ModelType: CustomVoice, ModelSize: "1.7b",
		Codec: CodecIDs{Pad: 20, BOS: 21, EOS: 22, Think: 23, NoThink: 24, ThinkBOS: 25, ThinkEOS: 26},
		Text:  TextIDs{IMStart: imStart, IMEnd: imEnd, TTSPad: ttsPad, TTSBOS: ttsBOS, TTSEOS: ttsEOS},
		Languages: []Language{{"chinese", 30}, {"english", 31}, {"german", 32}, {"italian", 33}, {"portuguese", 34}, {"spanish", 35},
			{"japanese", 36}, {"korean", 37}, {"french", 38}, {"russian", 39}, {"beijing_dialect", 40}, {"sichuan_dialect", 41}},
		Speakers:  []Speaker{{"vivian", 50, ""}, {"uncle_fu", 51, ""}, {"dylan", 52, "beijing_dialect"}, {"Eric", 53, "sichuan_dialect"}},
		Codebooks: 2, CodebookSize: 16, TextRows: 305, CodecRows: 60,
	}
	require.NoError(t, v.Check(tok))
	return tok, v
}

// toyTokenizer's token b is byte b; it also has the role's name (263 for one of nine
// letters), two and three newlines (264, 265), the other role's name (268 for one of four letters; "user" if none is
// given) and the special tokens above.
func toyTokenizer(t testing.TB, role string, more ...string) *bpe.Tokenizer {
	c := bpe.Config{Tokens: make([]string, 305), TokenTypes: slices.Repeat([]int32{bpe.Unused}, 305)}
	set := func(id int, token string, typ int32) { c.Tokens[id], c.TokenTypes[id] = token, typ }
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if b < '!' || b > '~' && b < 0xa1 || b == 0xad {
			r, next = next, next+1
		}
		set(b, string(r), bpe.Normal)
	}
	for i := 2; i <= len(role); i++ {
		c.Merges = append(c.Merges, role[:i-1]+" "+role[i-1:i])
		set(254+i, role[:i], bpe.Normal)
	}
	if len(more) == 0 {
		more = []string{"user"}
	}
	for i := 2; i <= len(more[0]); i++ { // 268 is the whole of "user"
		c.Merges = append(c.Merges, more[0][:i-1]+" "+more[0][i-1:i])
		set(264+i, more[0][:i], bpe.Normal)
	}
	c.Merges = append(c.Merges, "Ċ Ċ", "ĊĊ Ċ")
	set(264, "ĊĊ", bpe.Normal)
	set(265, "ĊĊĊ", bpe.Normal)
	for i, s := range []string{"<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"} {
		set(imStart+i, s, bpe.Control)
	}
	tok, err := bpe.New(c)
	require.NoError(t, err)
	return tok
}

func build(t *testing.T, in Input) *Prompt {
	t.Helper()
	tok, v := toy(t)
	p, err := Build(tok, v, in)
	require.NoError(t, err)
	return p
}

func text(id int32) Row        { return Row{Text: id, Codec: None, RefFrame: None} }
func both(id, codec int32) Row { return Row{Text: id, Codec: codec, RefFrame: None} }

var (
	roleRows = []Row{text(imStart), text(263), text('\n')}
	// english is the prefix that says so.
	english = []Row{both(ttsPad, 23), both(ttsPad, 25), both(ttsPad, 31), both(ttsPad, 26)}
	decide  = []Row{both(ttsPad, 24), both(ttsPad, 25), both(ttsPad, 26)}
	begin   = both(ttsBOS, 20)
)

func rows(parts ...any) []Row {
	var list []Row
	for _, p := range parts {
		switch p := p.(type) {
		case Row:
			list = append(list, p)
		case []Row:
			list = append(list, p...)
		}
	}
	return list
}

func TestWholeAndStreamed(t *testing.T) {
	in := Input{Text: "Hi!", Language: "English", Speaker: "UNCLE-FU"}
	head := rows(roleRows, english, both(ttsPad, 51), begin)

	p := build(t, in)
	assert.Equal(t, rows(head, both('H', 20), both('i', 20), both('!', 20), both(ttsEOS, 20), both(ttsPad, 21)), p.Rows)
	assert.Equal(t, []int32{ttsPad}, p.Overlay)
	assert.Equal(t, 3, p.TextTokens)
	assert.Equal(t, len(p.Rows), p.Tokens())
	assert.Equal(t, "english", p.Language)
	assert.Equal(t, "uncle_fu", p.Speaker)

	in.Layout = LayoutStreamed
	p = build(t, in)
	assert.Equal(t, rows(head, both('H', 21)), p.Rows)
	assert.Equal(t, []int32{'i', '!', ttsEOS}, p.Overlay)
	for frame, want := range []int32{'i', '!', ttsEOS, ttsPad, ttsPad} {
		assert.Equal(t, want, p.TextAt(frame))
	}
}

func TestAutoLayout(t *testing.T) {
	tok, v := toy(t)
	streamed := func(in Input) bool {
		in.Text = "abc"
		p, err := Build(tok, v, in)
		require.NoError(t, err)
		return len(p.Overlay) > 1
	}
	assert.False(t, streamed(Input{}))
	v.ModelType = VoiceDesign
	assert.False(t, streamed(Input{Instruct: "deep"}))
	v.ModelType = Base
	assert.False(t, streamed(Input{}))
	assert.True(t, streamed(Input{SpeakerVector: true}))
	assert.True(t, streamed(Input{SpeakerVector: true, RefText: "a", RefCodes: [][]int32{{1, 2}}}))
	assert.False(t, streamed(Input{SpeakerVector: true, Layout: LayoutWhole}))
}

func TestInContext(t *testing.T) {
	in := Input{Text: "de", RefText: "abc", RefCodes: [][]int32{{1, 2}, {15, 0}}, SpeakerVector: true, Layout: LayoutStreamed}
	head := rows(roleRows, decide, Row{Text: ttsPad, Codec: None, RefFrame: None, Speaker: true}, begin)
	frame := func(id, t int32) Row { return Row{Text: id, Codec: None, RefFrame: t} }

	p := build(t, in) // the text outlasts the frames
	assert.Equal(t, rows(head, both('a', 21), frame('b', 0), frame('c', 1)), p.Rows)
	assert.Equal(t, []int32{'d', 'e', ttsEOS}, p.Overlay)
	assert.Equal(t, in.RefCodes, p.RefCodes)
	assert.Equal(t, 2, p.TextTokens)
	assert.Equal(t, "auto", p.Language)

	in.RefCodes = [][]int32{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}
	p = build(t, in) // both end together
	assert.Equal(t, rows(head, both('a', 21), frame('b', 0), frame('c', 1), frame('d', 2), frame('e', 3), frame(ttsEOS, 4)), p.Rows)
	assert.Equal(t, []int32{ttsPad}, p.Overlay)

	in.RefCodes = append(in.RefCodes, []int32{11, 12})
	p = build(t, in) // the frames outlast the text
	assert.Equal(t, rows(frame(ttsEOS, 4), frame(ttsPad, 5)), p.Rows[len(p.Rows)-2:])
	assert.Equal(t, []int32{ttsPad}, p.Overlay)

	in.RefCodes, in.Layout = in.RefCodes[:1], LayoutWhole
	p = build(t, in)
	assert.Equal(t, rows(head, both('a', 20), both('b', 20), both('c', 20), both('d', 20), both('e', 20), both(ttsEOS, 20),
		both(ttsPad, 21), frame(ttsPad, 0)), p.Rows)
}

// TestUserTextIsPlain: literals of special tokens in what a user writes are text.
func TestUserTextIsPlain(t *testing.T) {
	p := build(t, Input{Text: "a<|im_end|>", Instruct: "<|im_end|>b"})
	for _, ids := range p.IDs {
		ends := slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return id != imEnd })
		assert.Len(t, ends, 1) // the template's own
	}
	assert.Len(t, p.IDs[0], 3+11+5)
	assert.Len(t, p.IDs[1], 1+2+11+2)
}

// TestLeadingNewlines: they merge with the role's newline, as in the reference.
func TestLeadingNewlines(t *testing.T) {
	p := build(t, Input{Text: "\n\nHi"})
	assert.Equal(t, rows(text(imStart), text(263), text(265), decide, begin, both('H', 20)), p.Rows[:8])
	assert.Equal(t, 2, p.TextTokens)
}

func TestByteOrderMark(t *testing.T) {
	plain := build(t, Input{Text: "Hi", Instruct: "x", Speaker: "eric"})
	assert.Equal(t, plain.IDs, build(t, Input{Text: "\ufeffHi", Instruct: "\ufeffx", Speaker: "eric"}).IDs)
}

// TestExactPromptTokenStrings: the turns that are tokenised, literally, for every mode. Without an instruction the
// prompt of custom_voice is that of base.
func TestExactPromptTokenStrings(t *testing.T) {
	const assistant = "<|im_start|>assistant\nHi!<|im_end|>\n<|im_start|>assistant\n"
	const user = "<|im_start|>user\nWarmly.<|im_end|>\n"
	tok, v := toy(t)
	for _, c := range []struct {
		mode  string
		in    Input
		turns []string
	}{
		{Base, Input{}, []string{assistant}},
		{Base, Input{SpeakerVector: true, RefText: "Ho.", RefCodes: [][]int32{{1, 2}}}, []string{assistant, "<|im_start|>assistant\nHo.<|im_end|>\n"}},
		{CustomVoice, Input{Speaker: "vivian"}, []string{assistant}},
		{CustomVoice, Input{Speaker: "vivian", Instruct: "\u200b "}, []string{assistant}},
		{CustomVoice, Input{Speaker: "vivian", Instruct: "Warmly."}, []string{assistant, user}},
		{VoiceDesign, Input{Instruct: "Warmly."}, []string{assistant, user}},
	} {
		v.ModelType, c.in.Text = c.mode, "Hi!"
		p, err := Build(tok, v, c.in)
		require.NoError(t, err)
		var turns []string
		for _, ids := range p.IDs {
			turns = append(turns, tok.Decode(ids))
		}
		assert.Equal(t, c.turns, turns, "%s %+v", c.mode, c.in)
	}
}

// TestInstructionPrefillPrecedesAssistant: the instruction's turn stands before everything else and changes nothing of
// it, nor of what comes after the prefill; a designed voice has one row less, that of the speaker.
func TestInstructionPrefillPrecedesAssistant(t *testing.T) {
	tok, v := toy(t)
	for _, layout := range []Layout{LayoutWhole, LayoutStreamed} {
		plain, err := Build(tok, v, Input{Text: "Hi!", Speaker: "vivian", Layout: layout})
		require.NoError(t, err)
		told, err := Build(tok, v, Input{Text: "Hi!", Speaker: "vivian", Instruct: "b", Layout: layout})
		require.NoError(t, err)
		turn := []Row{text(imStart), text(268), text('\n'), text('b'), text(imEnd), text('\n')}
		assert.Equal(t, rows(turn, plain.Rows), told.Rows)
		assert.Equal(t, plain.Overlay, told.Overlay)
		assert.Equal(t, plain.Pad, told.Pad)

		v.ModelType = VoiceDesign
		designed, err := Build(tok, v, Input{Text: "Hi!", Instruct: "b", Layout: layout})
		require.NoError(t, err)
		at := slices.IndexFunc(told.Rows, func(r Row) bool { return r.Codec == 50 })
		assert.Equal(t, slices.Delete(slices.Clone(told.Rows), at, at+1), designed.Rows)
		assert.Equal(t, told.Overlay, designed.Overlay)
		v.ModelType = CustomVoice
	}
}

// TestOptionalInstructionsAreOmitted: no instruction and a blank one are no tokens.
func TestOptionalInstructionsAreOmitted(t *testing.T) {
	none := build(t, Input{Text: "Hi", Speaker: "eric"})
	for _, instruct := range []string{"", " \n", "\ufeff"} {
		p := build(t, Input{Text: "Hi", Speaker: "eric", Instruct: instruct})
		assert.Equal(t, none.Rows, p.Rows)
		assert.Len(t, p.IDs, 1)
	}
}

func TestSmallCustomVoiceIgnoresInstruct(t *testing.T) {
	tok, v := toy(t)
	for size, ignored := range map[string]bool{"0.6b": true, "0.6B": true, "0b6": true, "1.7b": false, "1b7": false, "": false} {
		v.ModelSize = size
		p, err := Build(tok, v, Input{Text: "Hi", Instruct: "sadly"})
		require.NoError(t, err)
		q, err := Build(tok, v, Input{Text: "Hi"})
		require.NoError(t, err)
		assert.Equal(t, ignored, slices.Equal(p.Rows, q.Rows), size)
		assert.Equal(t, ignored, len(p.Warnings) == 1, size)
		assert.Empty(t, q.Warnings)
		if ignored {
			assert.Contains(t, p.Warnings[0], "instruct: ignored")
			assert.Contains(t, p.String(), "warning: instruct")
		}
	}
	v.ModelSize, v.ModelType = "0.6b", VoiceDesign
	p, err := Build(tok, v, Input{Text: "Hi", Instruct: "sadly"})
	require.NoError(t, err)
	assert.Empty(t, p.Warnings)
	assert.Len(t, p.IDs, 2)
}

func TestBuildRefuses(t *testing.T) {
	tok, v := toy(t)
	clip := [][]int32{{1, 2}}
	for _, test := range []struct {
		in   Input
		kind error
		want string
	}{
		{Input{}, ErrText, "text: empty"},
		{Input{Text: "a", Language: "klingon"}, ErrLanguage, `lang: "klingon" is not a language of this model; it has auto, chinese, `},
		{Input{Text: "a", Speaker: "bob"}, ErrSpeaker, `speaker: "bob" is not a speaker of this model; it has vivian, uncle_fu, dylan, Eric`},
		{Input{Text: "a", Speaker: "vivien"}, ErrSpeaker, `speaker: "vivien" is not a speaker of this model (did you mean "vivian"?); it has vivian, `},
		{Input{Text: "a", Instruct: "b\xff"}, ErrInstruct, "instruct: invalid UTF-8 at byte 1 (0xff)"},
		{Input{Text: "a", RefText: "b"}, ErrRefText, "ref_text: given without the codes of a reference"},
		{Input{Text: "a", RefCodes: clip}, ErrRefText, "ref_text: empty, but a reference's codes need its transcript"},
		{Input{Text: "a", RefCodes: clip, RefText: "\xc3("}, ErrRefText, "ref_text: invalid UTF-8 at byte 0 (0xc3)"},
		{Input{Text: "a", RefCodes: clip, RefText: "..."}, ErrRefText, "ref_text: nothing to speak: no letter or digit in it"},
		{Input{Text: "a", RefText: "b", RefCodes: [][]int32{{1, 2}, {1}}}, ErrRefCodes, "ref_codes: frame 1 has 1 codes, the model 2 codebooks"},
		{Input{Text: "a", RefText: "b", RefCodes: [][]int32{{1, 16}}}, ErrRefCodes, "ref_codes: frame 0, codebook 1: 16 is outside [0, 16)"},
		{Input{Text: "a", RefText: "b", RefCodes: [][]int32{{-1, 0}}}, ErrRefCodes, "ref_codes: frame 0, codebook 0: -1 is outside [0, 16)"},
	} {
		p, err := Build(tok, v, test.in)
		assert.Nil(t, p)
		require.Error(t, err)
		assert.ErrorIs(t, err, test.kind)
		assert.Equal(t, test.want, err.Error()[:min(len(test.want), len(err.Error()))])
	}
	v.Speakers = nil
	_, err := Build(tok, v, Input{Text: "a", Speaker: "vivian"})
	assert.EqualError(t, err, `speaker: "vivian": this model has no named speakers`)
}

func TestString(t *testing.T) {
	p := build(t, Input{Text: "Hi", Language: "en", Speaker: "Vivian", Layout: LayoutStreamed})
	assert.Equal(t, strings.TrimLeft(`
prompt: 10 rows, 2 text tokens, language english, speaker vivian
    0     300 "<|im_start|>"
    1     263 "assistant"
    2      10 "\n"
    3     302 "<tts_pad>"          + codec 23 think
    4     302 "<tts_pad>"          + codec 25 think_bos
    5     302 "<tts_pad>"          + codec 31 english
    6     302 "<tts_pad>"          + codec 26 think_eos
    7     302 "<tts_pad>"          + codec 50 vivian
    8     303 "<tts_text_bos>"     + codec 20 pad
    9      72 "H"                  + codec 21 bos
   f0     105 "i"
   f1     304 "<tts_text_eod>"
`, "\n"), p.String())

	p = build(t, Input{Text: "Hi", RefText: "a", RefCodes: [][]int32{{1, 2}}, SpeakerVector: true})
	assert.Contains(t, p.String(), "+ x-vector\n")
	assert.Contains(t, p.String(), "+ reference frame 0\n")
	assert.Contains(t, (&Prompt{Rows: []Row{both(1, 2)}}).String(), "+ codec 2\n") // made by hand
}

// FuzzBuild: whatever a request holds, the answer is an error that names a field, or
// rows whose ids all exist.
func FuzzBuild(f *testing.F) {
	f.Add("Hi!", "en", "vivian", "slowly", "", []byte(nil), false)
	f.Add("\n\n1", "", "", "", "abc", []byte{1, 2, 3, 4}, true)
	f.Add("\ufeff<|im_end|>", "zh-CN", "dylan", "\xff", "...", []byte{200}, true)
	tok, v := toy(f)
	f.Fuzz(func(t *testing.T, text, lang, speaker, instruct, refText string, codes []byte, streamed bool) {
		in := Input{Text: text, Language: lang, Speaker: speaker, Instruct: instruct, RefText: refText}
		for pair := range slices.Chunk(codes, v.Codebooks) {
			frame := make([]int32, len(pair))
			for k, c := range pair {
				frame[k] = int32(int8(c))
			}
			in.RefCodes = append(in.RefCodes, frame)
		}
		if streamed {
			in.Layout = LayoutStreamed
		}
		p, err := Build(tok, v, in)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			return
		}
		for _, r := range p.Rows {
			require.True(t, r.Text >= 0 && int(r.Text) < v.TextRows)
			require.True(t, r.Codec >= None && int(r.Codec) < v.CodecRows)
			require.True(t, r.RefFrame >= None && int(r.RefFrame) < len(in.RefCodes))
		}
		require.NotEmpty(t, p.Overlay)
		require.Positive(t, p.TextTokens)
		require.NotEmpty(t, p.String())
	})
}
