package prompt

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVocabCheck(t *testing.T) {
	for want, spoil := range map[string]func(*Vocab){
		`vocab: codebooks: 0`:                                                func(v *Vocab) { v.Codebooks = 0 },
		`vocab: codebook size: -1`:                                           func(v *Vocab) { v.CodebookSize = -1 },
		`vocab: text embedding rows: 0`:                                      func(v *Vocab) { v.TextRows = 0 },
		`vocab: codec embedding rows: 0`:                                     func(v *Vocab) { v.CodecRows = 0 },
		`vocab: codebook size: 61, but the codec embedding has 60 rows`:      func(v *Vocab) { v.CodebookSize = 61 },
		`vocab: model_type: "x" is not base, custom_voice or voice_design`:   func(v *Vocab) { v.ModelType = "x" },
		`vocab: text.tts_eos_id: 305 is outside [0, 305)`:                    func(v *Vocab) { v.Text.TTSEOS = 305 },
		`vocab: text.im_start_id: -1 is outside [0, 305)`:                    func(v *Vocab) { v.Text.IMStart = -1 },
		`vocab: codec.think_id: 60 is outside [0, 60)`:                       func(v *Vocab) { v.Codec.Think = 60 },
		`vocab: codec.eos_id: 2147483647 is outside [0, 60)`:                 func(v *Vocab) { v.Codec.EOS = math.MaxInt32 },
		`vocab: codec.language_ids: english: 99 is outside [0, 60)`:          func(v *Vocab) { v.Languages[1].ID = 99 },
		`vocab: codec.speaker_ids: dylan: -2 is outside [0, 60)`:             func(v *Vocab) { v.Speakers[2].ID = -2 },
		`vocab: codec.language_names[1]: "Chinese" is empty or listed twice`: func(v *Vocab) { v.Languages[1].Name = "Chinese" },
		`vocab: codec.speaker_names[1]: "" is empty or listed twice`:         func(v *Vocab) { v.Speakers[1].Name = "" },
		`vocab: codec.speaker_dialects[2]: "x" is not among the languages`:   func(v *Vocab) { v.Speakers[2].Dialect = "x" },
		`vocab: tokenizer: 305 tokens, but the text embedding has 304 rows`:  func(v *Vocab) { v.TextRows, v.Text.TTSEOS = 304, 0 },
	} {
		tok, v := toy(t)
		spoil(v)
		err := v.Check(tok)
		assert.EqualError(t, err, want)
		assert.ErrorIs(t, err, ErrVocab)
	}
}

// TestVocabCheckRole: a foreign tokenizer that splits the role's name would shift
// all that follows.
func TestVocabCheckRole(t *testing.T) {
	_, v := toy(t)
	err := v.Check(toyTokenizer(t, "assist"))
	assert.EqualError(t, err, `vocab: tokenizer: the role "assistant\n" is 5 tokens, the layout needs 2`)
}

// TestInstructionRequiresCompleteUserRole: a vocabulary without the word would spell it in pieces that no model has
// seen in that place. Base models take no instruction.
func TestInstructionRequiresCompleteUserRole(t *testing.T) {
	_, v := toy(t)
	broken := toyTokenizer(t, "assistant", "us")
	for mode, want := range map[string]string{CustomVoice: `vocab: tokenizer: the role "user\n" is 4 tokens, the layout needs 2`, VoiceDesign: "vocab: tokenizer", Base: ""} {
		v.ModelType = mode
		err := v.Check(broken)
		if want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, ErrVocab)
		assert.ErrorContains(t, err, want)
	}
}

func TestNameLists(t *testing.T) {
	_, v := toy(t)
	assert.Equal(t, []string{"vivian", "uncle_fu", "dylan", "Eric"}, v.SpeakerNames())
	assert.Len(t, v.LanguageNames(), 12)
	assert.Equal(t, "beijing_dialect", v.LanguageNames()[10])
}
