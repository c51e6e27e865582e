package prompt

import (
	"fmt"

	"github.com/libqwen/libqwen/core/bpe"
)

// Model types, as in the metadata.
const (
	Base        = "base"
	CustomVoice = "custom_voice"
	VoiceDesign = "voice_design"
)

// Vocab holds the ids that prompts are made of, all from the model file.
type Vocab struct {
	ModelType string // Base, CustomVoice or VoiceDesign
	ModelSize string // "0.6b" or "1.7b"

	Codec     CodecIDs
	Text      TextIDs
	Languages []Language
	Speakers  []Speaker

	Codebooks    int // codes in a frame
	CodebookSize int // a code is in [0, CodebookSize)
	TextRows     int // rows of the text embedding
	CodecRows    int // rows of the Talker's codec embedding
}

// CodecIDs are the control ids of the codec stream.
type CodecIDs struct {
	Pad, BOS, EOS, Think, NoThink, ThinkBOS, ThinkEOS int32
}

// TextIDs are the special tokens of the text stream.
type TextIDs struct {
	IMStart, IMEnd, TTSPad, TTSBOS, TTSEOS int32
}

// Language is a language or dialect and its codec id.
type Language struct {
	Name string
	ID   int32
}

// Speaker is a named speaker and its codec id.
type Speaker struct {
	Name    string
	ID      int32
	Dialect string // a name of Languages, "" if the speaker has none
}

// LanguageNames returns the names that the model file gives its languages.
func (v *Vocab) LanguageNames() []string {
	names := make([]string, len(v.Languages))
	for i, l := range v.Languages {
		names[i] = l.Name
	}
	return names
}

// SpeakerNames returns the names of the model file's speakers.
func (v *Vocab) SpeakerNames() []string {
	names := make([]string, len(v.Speakers))
	for i, s := range v.Speakers {
		names[i] = s.Name
	}
	return names
}

// Check tells whether prompts can be made of these ids and this tokenizer. After
// it has returned nil, every id in every prompt is a row of its embedding. The
// error wraps [ErrVocab] and names the id at fault.
func (v *Vocab) Check(tok *bpe.Tokenizer) error {
	for _, check := range []func() error{v.checkSizes, v.checkIDs, v.checkNames} {
		if err := check(); err != nil {
			return err
		}
	}
	if n := tok.Len(); n > v.TextRows {
		return vocabError("tokenizer: %d tokens, but the text embedding has %d rows", n, v.TextRows)
	}
	if err := checkRole(tok, "assistant\n"); err != nil || v.ModelType == Base {
		return err
	}
	return checkRole(tok, "user\n") // of the instruction
}

// checkRole tells whether a role is one token and its line break another, as in the tokenizer that models were trained
// with.
func checkRole(tok *bpe.Tokenizer, role string) error {
	if ids := tok.Encode(role); len(ids) != roleTokens-1 {
		return vocabError("tokenizer: the role %q is %d tokens, the layout needs %d", role, len(ids), roleTokens-1)
	}
	return nil
}

func (v *Vocab) checkSizes() error {
	for _, size := range []struct {
		name string
		n    int
	}{{"codebooks", v.Codebooks}, {"codebook size", v.CodebookSize}, {"text embedding rows", v.TextRows}, {"codec embedding rows", v.CodecRows}} {
		if size.n < 1 {
			return vocabError("%s: %d", size.name, size.n)
		}
	}
	if v.CodebookSize > v.CodecRows {
		return vocabError("codebook size: %d, but the codec embedding has %d rows", v.CodebookSize, v.CodecRows)
	}
	switch v.ModelType {
	case Base, CustomVoice, VoiceDesign:
		return nil
	}
	return vocabError("model_type: %q is not %s, %s or %s", v.ModelType, Base, CustomVoice, VoiceDesign)
}

func (v *Vocab) checkIDs() error {
	c, t := v.Codec, v.Text
	for _, id := range []namedID{
		{"text.im_start_id", t.IMStart}, {"text.im_end_id", t.IMEnd}, {"text.tts_pad_id", t.TTSPad},
		{"text.tts_bos_id", t.TTSBOS}, {"text.tts_eos_id", t.TTSEOS},
	} {
		if err := id.check(v.TextRows); err != nil {
			return err
		}
	}
	ids := []namedID{
		{"codec.pad_id", c.Pad}, {"codec.bos_id", c.BOS}, {"codec.eos_id", c.EOS}, {"codec.think_id", c.Think},
		{"codec.nothink_id", c.NoThink}, {"codec.think_bos_id", c.ThinkBOS}, {"codec.think_eos_id", c.ThinkEOS},
	}
	for _, l := range v.Languages {
		ids = append(ids, namedID{"codec.language_ids: " + l.Name, l.ID})
	}
	for _, s := range v.Speakers {
		ids = append(ids, namedID{"codec.speaker_ids: " + s.Name, s.ID})
	}
	for _, id := range ids {
		if err := id.check(v.CodecRows); err != nil {
			return err
		}
	}
	return nil
}

// checkNames refuses names that a request could not tell apart.
func (v *Vocab) checkNames() error {
	languages, speakers := map[string]bool{}, map[string]bool{}
	for i, l := range v.Languages {
		if k := key(l.Name); k == "" || languages[k] {
			return vocabError("codec.language_names[%d]: %q is empty or listed twice", i, l.Name)
		}
		languages[key(l.Name)] = true
	}
	for i, s := range v.Speakers {
		if k := key(s.Name); k == "" || speakers[k] {
			return vocabError("codec.speaker_names[%d]: %q is empty or listed twice", i, s.Name)
		}
		speakers[key(s.Name)] = true
		if s.Dialect != "" && !languages[key(s.Dialect)] {
			return vocabError("codec.speaker_dialects[%d]: %q is not among the languages", i, s.Dialect)
		}
	}
	return nil
}

type namedID struct {
	name string
	id   int32
}

func (n namedID) check(rows int) error {
	if n.id < 0 || int(n.id) >= rows {
		return vocabError("%s: %d is outside [0, %d)", n.name, n.id, rows)
	}
	return nil
}

func vocabError(format string, args ...any) error {
	return &Error{ErrVocab, fmt.Sprintf(format, args...)}
}
