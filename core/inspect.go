package core

import (
	"fmt"

	"github.com/libqwen/libqwen/core/model"
)

// TalkerInfo is what the file of a talker says of it.
type TalkerInfo struct {
	Name      string // what the model calls itself (general.name)
	Size      string // "0.6b" or "1.7b"
	Type      string // "base", "custom_voice" or "voice_design"
	Speakers  []string
	Languages []string

	Codebooks, CodebookSize int // of the speech tokenizer that it belongs to
}

// InspectTalker reads a talker's file, all but its weights: neither ggml nor a speech tokenizer is needed. Errors wrap
// ErrModel, or ErrMode.
func InspectTalker(path string) (TalkerInfo, error) { return Inspect(Options{TalkerPath: path}) }

// Inspect is InspectTalker for a model of several files, a folder, and a certain mode, as the options say.
func Inspect(opts Options) (TalkerInfo, error) {
	opts, err := findTalker(opts)
	if err != nil {
		return TalkerInfo{}, err
	}
	f, _, err := opts.openLM()
	if err != nil {
		return TalkerInfo{}, err
	}
	defer f.Close()
	v, _, err := model.ReadVocab(f)
	if err != nil {
		return TalkerInfo{}, as(ErrModel, fmt.Errorf("%s: %w", opts.TalkerPath, err))
	}
	return TalkerInfo{
		Name: model.Name(f), Size: v.ModelSize, Type: v.ModelType, Speakers: v.SpeakerNames(), Languages: v.LanguageNames(),
		Codebooks: v.Codebooks, CodebookSize: v.CodebookSize,
	}, nil
}
