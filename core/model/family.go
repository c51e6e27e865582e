package model

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// ErrMode: the files are of another mode than the one asked for, or do not tell theirs.
var ErrMode = errors.New("mode")

const (
	architecture = "qwen3-tts"
	ns           = architecture + "." // of all metadata keys
)

// OpenLM opens the language model that paths name. Files of the second family become one, with the names of the first:
// what reads it sees no difference. mode is the one that is wanted, or that a file that does not tell has; "" takes
// what the file says. notes tell what was not in the files.
func OpenLM(p Paths, mode string) (f *gguf.File, notes []string, err error) {
	f, err = Open(p.Talker, architecture, "talker")
	if err != nil {
		return nil, nil, err
	}
	if len(unique(p.Talker, p.Predictor, p.Tokenizer)) == 1 && firstFamily(f) {
		if err = checkMode(f, ns+"model_type", mode); err != nil {
			f.Close()
			return nil, nil, fmt.Errorf("%s: %w", p.Talker, err)
		}
		return f, nil, nil
	}
	return openSecond(f, p, mode)
}

// firstFamily tells whether a file has what only files of the first family have.
func firstFamily(f *gguf.File) bool {
	return f.Has(ns+"tokenizer_type") || f.Has(ns+"codec.language_names") || f.Has(ns+"model_type") && f.Has(ns+"talker.block_count")
}

// checkMode compares the mode that a file says with the one that is wanted, if any. What else is wrong with it is for
// ReadVocab to say.
func checkMode(f *gguf.File, key, mode string) error {
	if have, err := f.String(key); err == nil && mode != "" && have != mode {
		return fmt.Errorf("%w: %s: this is a %s model, %s was asked for", ErrMode, key, have, mode)
	}
	return nil
}

// second puts the files of a model of the second family together.
type second struct {
	reader                              // of the talker's file
	talker, predictor, vocab *gguf.File // may be one and the same
	files                    []*gguf.File
	names                    map[*gguf.File]string
	parts                    gguf.Parts
	defaults                 []string // keys that no file has
}

func openSecond(talker *gguf.File, p Paths, mode string) (*gguf.File, []string, error) {
	s := &second{reader: reader{f: talker}, names: map[*gguf.File]string{}}
	byPath := map[string]*gguf.File{p.Talker: talker}
	s.add(talker, p.Talker)
	fail := func(err error) (*gguf.File, []string, error) {
		s.close()
		return nil, nil, err
	}
	for _, path := range unique(p.Talker, p.Predictor, p.Tokenizer)[1:] {
		f, err := gguf.Open(path)
		if err != nil {
			return fail(err)
		}
		s.add(f, path)
		byPath[path] = f
	}
	s.talker, s.predictor, s.vocab = talker, talker, talker
	if f := byPath[p.Predictor]; f != nil {
		s.predictor = f
	}
	if f := byPath[p.Tokenizer]; f != nil {
		s.vocab = f
	}
	f, err := s.assemble(mode)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", p.Talker, err))
	}
	return f, s.notes(), nil
}

func (s *second) add(f *gguf.File, path string) {
	s.files = append(s.files, f)
	s.names[f] = filepath.Base(path)
}

func (s *second) close() error {
	var all []error
	for _, f := range s.files {
		all = append(all, f.Close())
	}
	return errors.Join(all...)
}

// check is gguf.File's Check of all files.
func (s *second) check() (modified bool, err error) {
	for _, f := range s.files {
		changed, err := f.Check()
		if err != nil {
			return true, err
		}
		modified = modified || changed
	}
	return modified, nil
}

// missing tells which part of the model is in none of the files.
func (s *second) missing() error {
	for _, p := range []struct {
		file         *gguf.File
		prefix, what string
	}{
		{s.talker, "talker.", "talker (tensors talker.…)"},
		{s.predictor, "code_pred.", "code predictor (tensors code_pred.…); if it has a file of its own, name that as predictor_path"},
	} {
		if !slices.ContainsFunc(p.file.Tensors(), func(t gguf.TensorInfo) bool { return strings.HasPrefix(t.Name, p.prefix) }) {
			return fmt.Errorf("%s has no %s", s.names[p.file], p.what)
		}
	}
	if !s.vocab.Has("tokenizer.ggml.tokens") {
		return fmt.Errorf("%s has no text tokenizer (tokenizer.ggml.tokens); if it has a file of its own, name that as tokenizer_path", s.names[s.vocab])
	}
	return nil
}

// assemble makes one file of all.
func (s *second) assemble(mode string) (*gguf.File, error) {
	if err := s.missing(); err != nil {
		return nil, err
	}
	s.set("general.architecture", architecture)
	s.copy(s.talker, func(key string) bool { return key == "general.name" || strings.HasPrefix(key, "generation.") })
	s.copy(s.vocab, func(key string) bool { return strings.HasPrefix(key, "tokenizer.") })
	g := s.geometry()
	s.tensors(g)
	s.identity(mode, g)
	s.codecIDs(g.codes)
	s.textIDs()
	s.languages(g.codes)
	s.presets()
	if s.err != nil {
		return nil, s.err
	}
	for _, f := range s.files {
		s.parts.Mappings = append(s.parts.Mappings, f.Mappings()[0])
	}
	s.parts.Close, s.parts.Check = s.close, s.check
	return gguf.Assemble(s.parts)
}

func (s *second) notes() []string {
	if len(s.defaults) == 0 {
		return nil
	}
	return []string{"not in the files, taken from the official checkpoints: " + strings.Join(s.defaults, ", ")}
}

// set gives the assembled file a metadata entry.
func (s *second) set(key string, value any) {
	s.parts.Metadata = append(s.parts.Metadata, gguf.Entry{Key: key, Value: value})
}

// copy takes entries over as they are.
func (s *second) copy(f *gguf.File, which func(key string) bool) {
	for _, key := range f.Keys() {
		if which(key) {
			v, _ := f.Value(key)
			s.set(key, v)
		}
	}
}

// identity sets the type and size of the model.
func (s *second) identity(mode string, g geometry) {
	kind := s.kind()
	switch {
	case kind == "" && mode == "" && s.err == nil:
		s.err = fmt.Errorf("%w: %stts_model_type: missing, and nothing else tells whether it is a base, custom_voice or voice_design model: say which", ErrMode, ns)
	case kind == "":
		kind = mode
	case mode != "" && kind != mode:
		s.fail("%w: this is a %s model, %s was asked for", ErrMode, kind, mode)
	}
	s.set(ns+"model_type", kind)
	s.set(ns+"model_size", s.size(g))
}

// kind is what the file says or, if it has speakers or a speaker encoder, shows of its mode.
func (s *second) kind() string {
	for _, key := range []string{"tts_model_type", "model_type"} {
		if s.talker.Has(ns + key) {
			kind, err := ParseMode(get(&s.reader, s.talker.String, ns+key))
			if err != nil {
				s.fail("%s: %w", ns+key, err)
			}
			return kind
		}
	}
	for _, key := range s.talker.Keys() {
		if strings.HasPrefix(key, speakerKey) {
			return prompt.CustomVoice
		}
	}
	for _, t := range s.talker.Tensors() {
		if strings.HasPrefix(t.Name, speakerEncoder) {
			return prompt.Base
		}
	}
	return ""
}

// size is what the file says, spelt 0.6b for 0b6; a file that does not is small if its predictor is as wide as its
// talker.
func (s *second) size(g geometry) string {
	for _, key := range []string{"tts_model_size", "model_size"} {
		if s.talker.Has(ns + key) {
			size := strings.ToLower(get(&s.reader, s.talker.String, ns+key))
			if whole, part, ok := strings.Cut(size, "b"); ok && part != "" {
				size = whole + "." + part + "b"
			}
			return size
		}
	}
	if g.width == g.predictorWidth {
		return "0.6b"
	}
	return "1.7b"
}
