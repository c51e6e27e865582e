package model

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/checkpoint"
	"github.com/libqwen/libqwen/core/prompt"
)

// Paths are the files of a model. Of the second family the language model may be three files.
type Paths struct {
	Talker    string // GGUF of the Talker, and of all of the language model that the others do not name
	Predictor string // GGUF of the CodePredictor; "": in the talker's file
	Tokenizer string // GGUF of the text tokenizer; "": in the talker's file
	Codec     string // GGUF of the 12 Hz speech tokenizer, or the ONNX vocoder
}

// modes in file names, by model type.
var modeNames = []struct{ mode, name string }{
	{prompt.Base, "base"}, {prompt.CustomVoice, "customvoice"}, {prompt.VoiceDesign, "voicedesign"},
}

// Types of weights in file names, the one to take first in front.
var (
	splitTypes  = []string{"f16", "q8_0", "q6_k", "q5_k", "q4_k"} // of the second family
	talkerTypes = []string{"q8_0", "bf16", "f16", "q6_k", "q5_k_m", "q5_k_s", "q4_k_m", "q4_k_s", "f32"}
	codecTypes  = []string{"f32", "bf16", "f16", "q8_0", "q4_k_m"}
	sizes       = []string{"1.7b", "0.6b"}
)

const vocoderName = "qwen3-tts-vocoder.onnx"

// DefaultPaths are the files that a folder of the second family has if nothing was chosen otherwise: 1.7B, F16, split,
// with the vocoder that all sizes and modes share. They need not exist.
func DefaultPaths(dir, mode string) Paths {
	stem := "qwen3-tts-1.7b-" + modeName(mode)
	return Paths{
		Talker:    filepath.Join(dir, stem+"-talker-f16.gguf"),
		Predictor: filepath.Join(dir, stem+"-code-predictor-f16.gguf"),
		Tokenizer: filepath.Join(dir, stem+"-tokenizer.gguf"),
		Codec:     filepath.Join(dir, vocoderName),
	}
}

func modeName(mode string) string {
	for _, m := range modeNames {
		if m.mode == mode {
			return m.name
		}
	}
	return mode
}

// FindDir finds the files of a model in a folder, by the names of either family. mode is base, custom_voice or
// voice_design; "" stands for the only one that is there. The codec may be missing.
func FindDir(dir, mode string) (Paths, error) {
	d, err := readFolder(dir)
	if err != nil {
		return Paths{}, err
	}
	var found []string
	var paths Paths
	for _, m := range modeNames {
		if mode != "" && mode != m.mode {
			continue
		}
		if p, ok := d.model(m.name); ok {
			found, paths = append(found, m.mode), p
		}
	}
	if len(found) == 0 && (mode == "" || mode == prompt.Base) {
		if p, ok := d.modeless(); ok {
			found, paths = append(found, prompt.Base), p
		}
	}
	switch {
	case len(found) == 0:
		return Paths{}, d.none(mode)
	case len(found) > 1:
		return Paths{}, fmt.Errorf("%w: %s has models for %s: say which", ErrMode, dir, strings.Join(found, ", "))
	}
	paths.Codec = d.codec()
	return paths, nil
}

// folder is the names of the files in a folder, by their lower-case form.
type folder struct {
	dir   string
	names map[string]string
}

func readFolder(dir string) (folder, error) {
	entries, err := os.ReadDir(dir)
	d := folder{dir: dir, names: map[string]string{}}
	for _, e := range entries {
		d.names[strings.ToLower(e.Name())] = e.Name()
	}
	return d, err
}

// first is the path of the first of the names that is there.
func (d folder) first(names ...string) (string, bool) {
	for _, n := range names {
		if have, ok := d.names[n]; ok {
			return filepath.Join(d.dir, have), true
		}
	}
	return "", false
}

// each puts the words of a list into a pattern.
func each(pattern string, words []string) []string {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = fmt.Sprintf(pattern, w)
	}
	return names
}

// model finds a bundle, the split files or a file of the first family of one mode, the larger size first.
func (d folder) model(mode string) (Paths, bool) {
	for _, size := range sizes {
		stem := "qwen3-tts-" + size + "-" + mode + "-"
		if bundle, ok := d.first(each(stem+"%s.gguf", splitTypes)...); ok {
			return Paths{Talker: bundle}, true
		}
		if p, ok := d.split(stem); ok {
			return p, true
		}
		if talker, ok := d.first(each("qwen-talker-"+size+"-"+mode+"-%s.gguf", talkerTypes)...); ok {
			return Paths{Talker: talker}, true
		}
	}
	return Paths{}, false
}

// split finds the files of a talker, a code predictor and a tokenizer, the types of weights independent of each other.
func (d folder) split(stem string) (p Paths, ok bool) {
	if p.Talker, ok = d.first(each(stem+"talker-%s.gguf", splitTypes)...); !ok {
		return p, false
	}
	p.Predictor, _ = d.first(each(stem+"code-predictor-%s.gguf", splitTypes)...)
	p.Tokenizer, _ = d.first(stem + "tokenizer.gguf")
	return p, true
}

// modeless finds the older files of the second family, whose names say no mode.
func (d folder) modeless() (Paths, bool) {
	bundle, ok := d.first(each("qwen3-tts-0.6b-%s.gguf", splitTypes)...)
	return Paths{Talker: bundle}, ok
}

// codec finds a speech tokenizer, which can do more, or else a vocoder.
func (d folder) codec() string {
	path, _ := d.first(append(each("qwen-tokenizer-12hz-%s.gguf", codecTypes), vocoderName)...)
	return path
}

// none tells what was looked for.
func (d folder) none(mode string) error {
	names := "qwen3-tts-1.7b-MODE-talker-f16.gguf, qwen3-tts-1.7b-MODE-f16.gguf or qwen-talker-1.7b-MODE-Q8_0.gguf"
	if mode != "" {
		names = strings.ReplaceAll(names, "MODE", modeName(mode))
		mode = " " + mode
	}
	others := ""
	if n := d.count(".gguf"); n > 0 {
		others = fmt.Sprintf("; none of its %d GGUF files has such a name", n)
	}
	return fmt.Errorf("no%s model: config.json: missing in %s, so it is no checkpoint, and no file is named like %s%s", mode, d.dir, names, others)
}

// count is how many names end like that.
func (d folder) count(ending string) int {
	n := 0
	for name := range d.names {
		if strings.HasSuffix(name, ending) {
			n++
		}
	}
	return n
}

// IsFolder tells whether a path is a folder that is to be searched for model files, not that of a checkpoint.
func IsFolder(path string) bool {
	d, err := readFolder(path)
	if err != nil {
		return false
	}
	return !checkpoint.Is(path) || d.count(".gguf") > 0 && d.count(".safetensors") == 0
}

// FindCodec finds the codec in a folder of model files; "" if there is none, or the path is no such folder.
func FindCodec(path string) string {
	if !IsFolder(path) {
		return ""
	}
	d, err := readFolder(path)
	if err != nil {
		return ""
	}
	return d.codec()
}

// unique are the paths that are not "", each once, in order.
func unique(paths ...string) []string {
	var list []string
	for _, p := range paths {
		if p != "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}
