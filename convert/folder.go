package convert

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/checkpoint"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// folderDepth is how far below a folder checkpoints are looked for: huggingface_hub's cache has them three folders down,
// and their speech tokenizers one further.
const folderDepth = 4

// Find lists the checkpoint directories in a folder, itself included, in alphabetical order; one that is reached by
// several ways is listed once.
func Find(folder string) ([]string, error) {
	var found []string
	seen := map[string]bool{}
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[real] {
			return err
		}
		seen[real] = true
		if checkpoint.Is(dir) {
			found = append(found, dir)
		}
		if depth == 0 {
			return nil
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			sub := filepath.Join(dir, e.Name())
			if info, err := os.Stat(sub); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				if err := walk(sub, depth-1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(folder, folderDepth); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, inputf("%s: no folder in it has a config.json, as checkpoints do", folder)
	}
	return found, nil
}

// FileName is what a file of the type is called where it is published: qwen-talker-0.6b-base-Q8_0.gguf.
func FileName(f *gguf.File, typ string) string {
	name := "qwen-tokenizer-12hz"
	if IsTalker(f) {
		size, _ := f.String("qwen3-tts.model_size")
		kind, _ := f.String("qwen3-tts.model_type")
		name = "qwen-talker-" + plain(size) + "-" + plain(kind)
	}
	for _, r := range Recipes() {
		if strings.EqualFold(r, typ) {
			typ = r
		}
	}
	return name + "-" + typ + ".gguf"
}

// IsTalker tells a talker's file from a speech tokenizer's.
func IsTalker(f *gguf.File) bool {
	arch, _ := f.String("general.architecture")
	return arch != checkpoint.CodecArchitecture
}

// plain leaves of a name what file names may have.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}

// sampleRows is how many values of each tensor Matches compares, about: enough to tell any two trainings apart.
const sampleRows = 1 << 12

// Matches tells whether the file at path is what the plan would make: the same metadata, the same tensors in the same
// types, and the same first values of each. ggmlDir is as that of [WriteOptions].
func (p *Plan) Matches(path, ggmlDir string) bool {
	f, err := gguf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if p.load(ggmlDir) != nil {
		return false
	}
	if !p.sameMetadata(f) || len(f.Tensors()) != len(p.Steps) {
		return false
	}
	var buffers piece
	for i := range p.Steps {
		s := &p.Steps[i]
		t := f.Tensor(s.Name)
		if t == nil || t.Type != s.To || !slices.Equal(t.Shape, s.Shape) || !p.sameStart(s, f.Data(t), &buffers) {
			return false
		}
	}
	return true
}

// ownKeys are those that a plan sets itself.
var ownKeys = []string{"general.file_type", "general.quantization_version", "general.alignment"}

func (p *Plan) sameMetadata(f *gguf.File) bool {
	if n, err := f.Uint32("general.file_type"); err != nil || n != p.recipe.fileType {
		return false
	}
	count := func(keys []string) int {
		return len(slices.DeleteFunc(keys, func(k string) bool { return slices.Contains(ownKeys, k) }))
	}
	if count(f.Keys()) != count(p.file.Keys()) {
		return false
	}
	for _, key := range p.file.Keys() {
		if slices.Contains(ownKeys, key) {
			continue
		}
		want, _ := p.file.Value(key)
		have, ok := f.Value(key)
		if !ok || !have.Equal(want) {
			return false
		}
	}
	return true
}

// sameStart tells whether a tensor's data begin as the plan would have them begin.
func (p *Plan) sameStart(s *Step, data []byte, buffers *piece) bool {
	row := int(s.Shape[0])
	rows := min(max(sampleRows/row, 1), int(s.After)/rowBytes(s.To, row))
	in, out := rows*rowBytes(s.From, row), rows*rowBytes(s.To, row)
	source := p.file.Data(p.file.Tensor(s.Name))[:in]
	if s.From == s.To {
		return bytes.Equal(source, data[:out])
	}
	return buffers.convert(s, row, 0, source, out) == nil && bytes.Equal(buffers.out, data[:out])
}
