package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/libqwen/libqwen/core/voicefile"
)

// voice is what a voice file is.
type voice struct {
	Path       string   `json:"path"`
	Kind       string   `json:"kind"` // "x-vector", "codes" or "voice"
	Model      string   `json:"model,omitempty"`
	Width      int      `json:"width,omitempty"`
	Frames     int      `json:"frames,omitempty"`
	Seconds    float64  `json:"seconds,omitempty"`
	Codebooks  int      `json:"codebooks,omitempty"`
	Transcript string   `json:"transcript,omitempty"`
	Tool       string   `json:"tool,omitempty"`
	Problems   []string `json:"problems"`
}

// isVoice tells voice files by their names.
func isVoice(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".spk", ".rvq", ".qvoice":
		return true
	}
	return false
}

// voice reads a voice file.
func (a *app) voice(path string) *voice {
	v := &voice{Path: path, Problems: []string{}}
	var err error
	switch strings.ToLower(filepath.Ext(path)) {
	case ".spk":
		v.Kind = "x-vector"
		var x []float32
		x, err = voicefile.ReadXVector(path)
		v.Width = len(x)
	case ".rvq":
		v.Kind = "codes"
		var codes [][]int32
		if codes, err = voicefile.ReadCodes(path, a.codebooks, a.size); err != nil {
			err = fmt.Errorf("%w; --codebooks and --codebook-size tell of another codec than the published one", err)
		}
		v.codes(codes)
	default:
		v.Kind = "voice"
		var file *voicefile.Voice
		if file, err = voicefile.ReadVoice(path); err == nil {
			v.Model, v.Width, v.Transcript, v.Tool = file.Model.String(), len(file.XVector), file.Transcript, file.Tool
			v.codes(file.Codes)
		}
	}
	if err != nil {
		v.Problems = append(v.Problems, err.Error())
	}
	return v
}

func (v *voice) codes(codes [][]int32) {
	if v.Frames = len(codes); v.Frames > 0 {
		v.Codebooks, v.Seconds = len(codes[0]), float64(v.Frames)/12.5
	}
}

func (v *voice) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", v.Path, v.Kind)
	line(w, "model", v.Model)
	if v.Width > 0 {
		line(w, "x-vector", fmt.Sprintf("%d values", v.Width))
	}
	if v.Frames > 0 {
		line(w, "codes", fmt.Sprintf("%d frames of %d, %.1f s", v.Frames, v.Codebooks, v.Seconds))
	}
	line(w, "transcript", v.Transcript)
	line(w, "made by", v.Tool)
	printProblems(w, v.Problems)
}
