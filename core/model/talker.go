// Package model reads what model files say besides tensors: which architecture they hold, the vocabulary of prompts,
// the tokenizer and the sampling defaults.
package model

import (
	"fmt"
	"strings"

	"github.com/libqwen/libqwen/core/bpe"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Open maps a file, or a checkpoint's directory, and checks that it holds the architecture; what says in words what is
// wanted.
func Open(path, architecture, what string) (*gguf.File, error) {
	f, err := openAny(path, architecture)
	if err != nil {
		return nil, err
	}
	have, err := f.String("general.architecture")
	if err == nil && have != architecture {
		err = fmt.Errorf("%s holds %q, not the %s (%q)", path, have, what, architecture)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// reader reads metadata and keeps the errors.
type reader struct {
	f   *gguf.File
	err error // the first
	all []error
}

func (r *reader) fail(format string, args ...any) { r.add(fmt.Errorf(format, args...)) }

func (r *reader) add(err error) {
	if r.err == nil {
		r.err = err
	}
	r.all = append(r.all, err)
}

func get[T any](r *reader, read func(string) (T, error), key string) T {
	v, err := read(key)
	if err != nil {
		r.add(err)
	}
	return v
}

// maxID bounds ids, so that they can be converted before they are compared with a vocabulary.
const maxID = 1 << 30

func (r *reader) id(key string) int32 { return r.narrow(key, get(r, r.f.Int, key)) }

func (r *reader) ids(key string) []int32 {
	var ids []int32
	for _, v := range optional(r, r.f.Ints, key) {
		ids = append(ids, r.narrow(key, v))
	}
	return ids
}

func (r *reader) narrow(key string, v int) int32 {
	if v < 0 || v > maxID {
		r.fail("%s: %d is no id", key, v)
	}
	return int32(v)
}

// optional reads a list that may be absent.
func optional[T any](r *reader, read func(string) ([]T, error), key string) []T {
	if !r.f.Has(key) {
		return nil
	}
	return get(r, read, key)
}

// ReadVocab reads the ids that prompts are made of and the tokenizer, and checks them against each other.
func ReadVocab(f *gguf.File) (*prompt.Vocab, *bpe.Tokenizer, error) {
	r := &reader{f: f}
	v := &prompt.Vocab{
		ModelType: get(r, f.String, "qwen3-tts.model_type"),
		ModelSize: get(r, f.String, "qwen3-tts.model_size"),
		Codec: prompt.CodecIDs{
			Pad: r.id("qwen3-tts.codec.pad_id"), BOS: r.id("qwen3-tts.codec.bos_id"), EOS: r.id("qwen3-tts.codec.eos_id"),
			Think: r.id("qwen3-tts.codec.think_id"), NoThink: r.id("qwen3-tts.codec.nothink_id"),
			ThinkBOS: r.id("qwen3-tts.codec.think_bos_id"), ThinkEOS: r.id("qwen3-tts.codec.think_eos_id"),
		},
		Text: prompt.TextIDs{
			IMStart: r.id("qwen3-tts.text.im_start_id"), IMEnd: r.id("qwen3-tts.text.im_end_id"), TTSPad: r.id("qwen3-tts.text.tts_pad_id"),
			TTSBOS: r.id("qwen3-tts.text.tts_bos_id"), TTSEOS: r.id("qwen3-tts.text.tts_eos_id"),
		},
		Codebooks:    get(r, f.Int, "qwen3-tts.num_code_groups"),
		CodebookSize: get(r, f.Int, "qwen3-tts.code_pred.vocab_size"),
		TextRows:     get(r, f.Int, "qwen3-tts.talker.text_vocab_size"),
		CodecRows:    get(r, f.Int, "qwen3-tts.talker.vocab_size"),
	}
	r.languages(v)
	r.speakers(v)
	config := bpe.Config{
		Tokens: get(r, f.Strings, "tokenizer.ggml.tokens"),
		Merges: get(r, f.Strings, "tokenizer.ggml.merges"),
	}
	config.TokenTypes = r.ids("tokenizer.ggml.token_type")
	if r.err != nil {
		return nil, nil, gguf.AllOf(r.all)
	}
	return checked(v, config)
}

func checked(v *prompt.Vocab, config bpe.Config) (*prompt.Vocab, *bpe.Tokenizer, error) {
	switch v.ModelType {
	case prompt.Base, prompt.CustomVoice, prompt.VoiceDesign:
	default:
		return nil, nil, fmt.Errorf("qwen3-tts.model_type: %q is not %s, %s or %s", v.ModelType, prompt.Base, prompt.CustomVoice, prompt.VoiceDesign)
	}
	tok, err := bpe.New(config)
	if err != nil {
		return nil, nil, err
	}
	if err := v.Check(tok); err != nil {
		return nil, nil, err
	}
	return v, tok, nil
}

func (r *reader) languages(v *prompt.Vocab) {
	names := optional(r, r.f.Strings, "qwen3-tts.codec.language_names")
	ids := r.ids("qwen3-tts.codec.language_ids")
	if len(names) != len(ids) {
		r.fail("qwen3-tts.codec.language_names: %d names for %d ids", len(names), len(ids))
		return
	}
	for i, n := range names {
		v.Languages = append(v.Languages, prompt.Language{Name: n, ID: ids[i]})
	}
}

func (r *reader) speakers(v *prompt.Vocab) {
	names := optional(r, r.f.Strings, "qwen3-tts.codec.speaker_names")
	ids := r.ids("qwen3-tts.codec.speaker_ids")
	dialects := optional(r, r.f.Strings, "qwen3-tts.codec.speaker_dialects")
	if dialects == nil {
		dialects = make([]string, len(names))
	}
	if len(names) != len(ids) || len(names) != len(dialects) {
		r.fail("qwen3-tts.codec.speaker_names: %d names for %d ids and %d dialects", len(names), len(ids), len(dialects))
		return
	}
	for i, n := range names {
		v.Speakers = append(v.Speakers, prompt.Speaker{Name: n, ID: ids[i], Dialect: dialects[i]})
	}
}

// Generation is the sampling that a file's authors recommend.
type Generation struct {
	Talker, Predictor sample.Params
	MaxFrames         int
}

// DefaultGeneration is what holds where a file says nothing; the official checkpoints say the same.
func DefaultGeneration() Generation {
	return Generation{
		Talker:    sample.Params{DoSample: true, Temperature: .9, TopK: 50, TopP: 1, RepetitionPenalty: 1.05},
		Predictor: sample.Params{DoSample: true, Temperature: .9, TopK: 50, TopP: 1, RepetitionPenalty: 1},
		MaxFrames: 2048,
	}
}

// ReadGeneration reads generation.* over the defaults and checks the values.
func ReadGeneration(f *gguf.File) (Generation, error) {
	g := DefaultGeneration()
	r := &reader{f: f}
	over(r, f.Bool, "do_sample", &g.Talker.DoSample)
	over(r, f.Float32, "temperature", &g.Talker.Temperature)
	over(r, f.Int, "top_k", &g.Talker.TopK)
	over(r, f.Float32, "top_p", &g.Talker.TopP)
	over(r, f.Float32, "repetition_penalty", &g.Talker.RepetitionPenalty)
	over(r, f.Bool, "subtalker_do_sample", &g.Predictor.DoSample)
	over(r, f.Float32, "subtalker_temperature", &g.Predictor.Temperature)
	over(r, f.Int, "subtalker_top_k", &g.Predictor.TopK)
	over(r, f.Float32, "subtalker_top_p", &g.Predictor.TopP)
	if r.err == nil {
		r.err = g.Talker.Validate("generation.")
	}
	if r.err == nil {
		r.err = g.Predictor.ValidateCodebooks("generation.subtalker_")
	}
	return g, r.err
}

func over[T any](r *reader, read func(string) (T, error), key string, v *T) {
	if key = "generation." + key; r.f.Has(key) {
		*v = get(r, read, key)
	}
}

// Name is what a file calls itself.
func Name(f *gguf.File) string {
	if n, err := f.String("general.name"); err == nil {
		return strings.TrimSpace(n)
	}
	return ""
}
