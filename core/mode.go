package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Mode is what a checkpoint was trained for, and so what its requests may and must have.
type Mode string

const (
	ModeBase        Mode = prompt.Base        // clones a reference, or picks a voice
	ModeCustomVoice Mode = prompt.CustomVoice // speaks with a named speaker's voice, on request in a style
	ModeVoiceDesign Mode = prompt.VoiceDesign // speaks with a voice that the request describes
)

// ParseMode reads the name of a mode; case does not matter, nor whether its words are divided by '_', '-' or not at
// all. "" is no mode in particular.
func ParseMode(s string) (Mode, error) {
	if s == "" {
		return "", nil
	}
	m, err := model.ParseMode(s)
	if err != nil {
		return "", fail(ErrInvalid, "mode: %w", err)
	}
	return Mode(m), nil
}

// PresetSpeaker is the name of a speaker of the official custom_voice checkpoints, for Request.Speaker. Which of them
// a model has, and by which ids, its file says: see Engine.Speakers.
type PresetSpeaker = string

const (
	Vivian  PresetSpeaker = "vivian"
	Serena  PresetSpeaker = "serena"
	UncleFu PresetSpeaker = "uncle_fu"
	Dylan   PresetSpeaker = "dylan"
	Eric    PresetSpeaker = "eric"
	Ryan    PresetSpeaker = "ryan"
	Aiden   PresetSpeaker = "aiden"
	OnoAnna PresetSpeaker = "ono_anna"
	Sohee   PresetSpeaker = "sohee"
)

// PresetSpeakers are all of them.
func PresetSpeakers() []PresetSpeaker { return slices.Clone(model.Presets) }

// Mode is that of the loaded checkpoint.
func (e *Engine) Mode() Mode { return Mode(e.vocab.ModelType) }

// OpenModelDir opens the model of a folder: files of either family, by their usual names (see FindModel). mode may be
// "" if the folder has only one.
func OpenModelDir(dir string, mode Mode) (*Engine, error) {
	return Open(Options{TalkerPath: dir, Mode: mode})
}

// FindModel completes options whose TalkerPath is a folder with the files that are there: a bundle, split files or a
// talker of the mode, and a codec. What the options name already stays.
func FindModel(opts Options) (Options, error) {
	folder := opts.TalkerPath
	found, err := findTalker(opts)
	if err == nil && found.TalkerPath != folder && found.CodecPath == "" {
		err = fail(ErrModel, "talker_path: %s has no codec (qwen-tokenizer-12hz-F32.gguf): name one as codec_path", folder)
	}
	return found, err
}

// findTalker is FindModel where no codec is needed.
func findTalker(opts Options) (Options, error) {
	if !model.IsFolder(opts.TalkerPath) {
		return opts, nil
	}
	mode, err := ParseMode(string(opts.Mode))
	if err != nil {
		return opts, err
	}
	p, err := model.FindDir(opts.TalkerPath, string(mode))
	if err != nil {
		return opts, modelError(fmt.Errorf("talker_path: %w", err))
	}
	opts.TalkerPath = p.Talker
	for _, f := range []struct {
		have  *string
		found string
	}{{&opts.PredictorPath, p.Predictor}, {&opts.TokenizerPath, p.Tokenizer}, {&opts.CodecPath, p.Codec}} {
		if *f.have == "" {
			*f.have = f.found
		}
	}
	return opts, nil
}

// OpenTalker opens the language model that options name, of either family and any number of files, as one file with the
// names of the first, for tools that rewrite it. notes tell what was not in the files.
func OpenTalker(opts Options) (f *gguf.File, notes []string, err error) {
	if opts, err = findTalker(opts); err != nil {
		return nil, nil, err
	}
	return opts.openLM()
}

// openLM opens the files of the language model as one.
func (o *Options) openLM() (*gguf.File, []string, error) {
	mode, err := ParseMode(string(o.Mode))
	if err != nil {
		return nil, nil, err
	}
	paths := model.Paths{Talker: o.TalkerPath, Predictor: o.PredictorPath, Tokenizer: o.TokenizerPath}
	f, notes, err := model.OpenLM(paths, string(mode))
	if err != nil {
		return nil, nil, modelError(fmt.Errorf("talker: %w", err))
	}
	return f, notes, nil
}

// modelError gives an error of opening a model its kind.
func modelError(err error) error {
	if errors.Is(err, model.ErrMode) {
		return as(ErrMode, err)
	}
	return as(ErrModel, err)
}
