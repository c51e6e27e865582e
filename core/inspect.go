package core

import (
	"fmt"

	"github.com/libqwen/libqwen/core/lm"
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
// ErrModel.
func InspectTalker(path string) (TalkerInfo, error) {
	f, err := openFile(path, lm.Architecture, "talker")
	if err != nil {
		return TalkerInfo{}, err
	}
	defer f.Close()
	v, _, err := model.ReadVocab(f)
	if err != nil {
		return TalkerInfo{}, as(ErrModel, fmt.Errorf("%s: %w", path, err))
	}
	return TalkerInfo{
		Name: model.Name(f), Size: v.ModelSize, Type: v.ModelType, Speakers: v.SpeakerNames(), Languages: v.LanguageNames(),
		Codebooks: v.Codebooks, CodebookSize: v.CodebookSize,
	}, nil
}
