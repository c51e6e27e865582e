package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// controls are the control ids of the codec stream: their names in keys, and their places after the codes in the
// official checkpoints, for older files that lack them.
var controls = []struct {
	name   string
	offset int
}{
	{"pad", 100}, {"bos", 101}, {"eos", 102}, {"think", 106}, {"nothink", 107}, {"think_bos", 108}, {"think_eos", 109},
}

// codecIDs sets the control ids; codes is the number of codes.
func (s *second) codecIDs(codes int) {
	for _, c := range controls {
		key := "codec." + c.name + "_id"
		id, ok := s.find(key, "codec_"+c.name+"_id", "codec."+c.name+"_token_id", "codec_"+c.name+"_token_id",
			"talker.codec_"+c.name+"_id", "talker.codec_"+c.name+"_token_id")
		if !ok {
			id = codes + c.offset
			s.assumed(key)
		}
		s.set(ns+key, int64(id))
	}
}

// find is the number of the first of the keys that the talker's or the tokenizer's file has.
func (s *second) find(keys ...string) (int, bool) {
	for _, f := range []*gguf.File{s.talker, s.vocab} {
		for _, key := range keys {
			if f.Has(ns + key) {
				return get(&s.reader, f.Int, ns+key), true
			}
		}
	}
	return 0, false
}

// texts are the special tokens of the text stream: keys, the token itself, the key of tokenizers in general, and the
// id in the official checkpoints.
var texts = []struct {
	name    string
	keys    []string
	token   string
	general string
	id      int
}{
	{"im_start", []string{"im_start_token_id"}, "<|im_start|>", "tokenizer.ggml.bos_token_id", 151644},
	{"im_end", []string{"im_end_token_id"}, "<|im_end|>", "tokenizer.ggml.eos_token_id", 151645},
	{"tts_pad", []string{"tts_pad_token_id", "tts.pad_token_id", "tts.pad_id"}, "<tts_pad>", "", 151671},
	{"tts_bos", []string{"tts_bos_token_id", "tts.bos_token_id", "tts.bos_id"}, "<tts_text_bos>", "", 151672},
	{"tts_eos", []string{"tts_eos_token_id", "tts.eos_token_id", "tts.eos_id"}, "<tts_text_eod>", "", 151673},
}

// textIDs sets the special tokens' ids.
func (s *second) textIDs() {
	tokens := optional(&s.reader, s.vocab.Strings, "tokenizer.ggml.tokens")
	for _, t := range texts {
		key := "text." + t.name + "_id"
		id, ok := s.find(append([]string{key}, t.keys...)...)
		if !ok {
			id = slices.Index(tokens, t.token)
			ok = id >= 0
		}
		if !ok && t.general != "" && s.vocab.Has(t.general) {
			id, ok = get(&s.reader, s.vocab.Int, t.general), true
		}
		if !ok {
			id = t.id
			s.assumed(key)
		}
		s.set(ns+key, int64(id))
	}
}

// official are the languages of the official checkpoints and their places after the codes, for files that list none.
var official = []struct {
	name   string
	offset int
}{
	{"chinese", 7}, {"english", 2}, {"german", 5}, {"italian", 22}, {"portuguese", 23}, {"spanish", 6}, {"japanese", 10},
	{"korean", 16}, {"french", 13}, {"russian", 21},
}

// languageKeys are the beginnings, and endings, of keys that tell the id of a language or dialect.
var languageKeys = []struct{ before, after string }{
	{"talker.codec_language_id.", ""}, {"codec_language_id.", ""}, {"codec.language.", "_id"}, {"language.", "_id"},
}

// languages sets the tables of languages and dialects.
func (s *second) languages(codes int) {
	names, ids := s.listed()
	if !slices.ContainsFunc(names, isOfficial) {
		for _, l := range official {
			names, ids = append(names, l.name), append(ids, codes+l.offset)
		}
		s.assumed("talker.codec_language_id.*")
	}
	s.set(ns+"codec.language_names", names)
	s.set(ns+"codec.language_ids", int64s(ids))
}

func isOfficial(name string) bool {
	for _, l := range official {
		if l.name == name {
			return true
		}
	}
	return false
}

// listed are the languages that the talker's file has keys for, in the order of the file.
func (s *second) listed() (names []string, ids []int) {
	for _, key := range s.talker.Keys() {
		for _, k := range languageKeys {
			name, ok := strings.CutPrefix(key, ns+k.before)
			if ok {
				name, ok = strings.CutSuffix(name, k.after)
			}
			if ok && name != "" && !slices.Contains(names, name) {
				names, ids = append(names, name), append(ids, get(&s.reader, s.talker.Int, key))
			}
		}
	}
	return names, ids
}

const (
	speakerKey = ns + "talker.spk_id."
	dialectKey = ns + "talker.spk_is_dialect."
)

// presets sets the table of named speakers, in the order of the file.
func (s *second) presets() {
	names, dialects := []string{}, []string{}
	var ids []int
	for _, key := range s.talker.Keys() {
		if name, ok := strings.CutPrefix(key, speakerKey); ok {
			names, ids = append(names, name), append(ids, get(&s.reader, s.talker.Int, key))
			dialects = append(dialects, s.dialect(name))
		}
	}
	s.set(ns+"codec.speaker_names", names)
	s.set(ns+"codec.speaker_ids", int64s(ids))
	s.set(ns+"codec.speaker_dialects", dialects)
}

// dialect is that of a speaker, "" if there is none: the key may be missing, or false.
func (s *second) dialect(speaker string) string {
	key := dialectKey + speaker
	if !s.talker.Has(key) {
		return ""
	}
	if is, err := s.talker.Bool(key); err == nil {
		if is {
			s.fail("%s: true is no dialect: its name is expected, or false", key)
		}
		return ""
	}
	name := get(&s.reader, s.talker.String, key)
	if names, _ := s.listed(); name != "" && !slices.Contains(names, name) {
		s.fail("%s: %q has no %stalker.codec_language_id.%s", key, name, ns, name)
	}
	return name
}

func int64s(list []int) []int64 {
	wide := make([]int64, len(list))
	for i, n := range list {
		wide[i] = int64(n)
	}
	return wide
}

// Presets are the speakers of the official custom_voice checkpoints. Their ids are in the files.
var Presets = []string{"vivian", "serena", "uncle_fu", "dylan", "eric", "ryan", "aiden", "ono_anna", "sohee"}

// ParseMode reads a model type, spelt custom_voice, customvoice, Custom-Voice …
func ParseMode(s string) (string, error) {
	folded := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
	for _, m := range modeNames {
		if m.name == folded {
			return m.mode, nil
		}
	}
	return "", fmt.Errorf("%q is not %s, %s or %s", s, prompt.Base, prompt.CustomVoice, prompt.VoiceDesign)
}
