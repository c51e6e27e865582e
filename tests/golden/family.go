package golden

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// Split is the content of the three files of a model of the second family, before they are written. Files with the
// same content pointer are written once, as a bundle.
type Split struct {
	Talker, Predictor, Tokenizer *Content
}

// Content is what one GGUF file holds.
type Content struct {
	Metadata map[string]any
	Tensors  []gguf.TensorInfo
	Data     map[string][]byte // by tensor
}

// Second makes the content of a tiny model (a name of Models, a talker's) as the second family spells it: every key
// that it has, the presets as keys of their own, the projection under its long name in the predictor's file.
func Second(tb testing.TB, name, typ string) *Split {
	tb.Helper()
	f, err := gguf.Open(GGUF(tb, name, typ))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	s := &Split{newContent(), newContent(), newContent()}
	for _, key := range f.Keys() {
		v, _ := f.Value(key)
		s.put(key, v)
	}
	s.rename(tb, f)
	for _, t := range f.Tensors() {
		to := s.Talker
		data := f.Data(&t)
		if strings.HasPrefix(t.Name, "code_pred.") {
			to = s.Predictor
			t.Name = strings.Replace(t.Name, "code_pred.mtp_proj.", "code_pred.small_to_mtp_projection.", 1)
		}
		to.Add(t, data)
	}
	return s
}

func newContent() *Content { return &Content{Metadata: map[string]any{}, Data: map[string][]byte{}} }

// Add adds a tensor.
func (c *Content) Add(t gguf.TensorInfo, data []byte) {
	c.Tensors = append(c.Tensors, t)
	c.Data[t.Name] = data
}

// Move takes a tensor out and adds it to another file, which may be the same, under another name.
func (c *Content) Move(name string, to *Content, as string) {
	i := slices.IndexFunc(c.Tensors, func(t gguf.TensorInfo) bool { return t.Name == name })
	t, data := c.Tensors[i], c.Data[name]
	c.Tensors = slices.Delete(c.Tensors, i, i+1)
	delete(c.Data, name)
	t.Name = as
	to.Add(t, data)
}

// Drop removes the keys that begin like that.
func (c *Content) Drop(prefixes ...string) {
	for _, p := range prefixes {
		maps.DeleteFunc(c.Metadata, func(key string, _ any) bool { return strings.HasPrefix(key, p) })
	}
}

// Rename gives the keys that begin like from another beginning.
func (c *Content) Rename(from, to string) {
	for key, v := range maps.Clone(c.Metadata) {
		if rest, ok := strings.CutPrefix(key, from); ok {
			delete(c.Metadata, key)
			c.Metadata[to+rest] = v
		}
	}
}

// put sorts a metadata entry of the first family into the files of the second.
func (s *Split) put(key string, v any) {
	switch {
	case strings.HasPrefix(key, "tokenizer."):
		s.Tokenizer.Metadata[key] = v
	case strings.HasPrefix(key, "qwen3-tts.code_pred."):
		s.Predictor.Metadata[key] = v
	case key == "general.architecture":
		s.Talker.Metadata[key], s.Predictor.Metadata[key], s.Tokenizer.Metadata[key] = v, v, v
	case key == "qwen3-tts.model_type", key == "qwen3-tts.model_size":
		s.Talker.Metadata["qwen3-tts.tts_"+strings.TrimPrefix(key, "qwen3-tts.")] = v
	case key == "qwen3-tts.tokenizer_type", strings.HasPrefix(key, "qwen3-tts.codec.language_"), strings.HasPrefix(key, "qwen3-tts.codec.speaker_"):
	default:
		s.Talker.Metadata[key] = v
	}
}

// rename spells the tables of languages and speakers as keys.
func (s *Split) rename(tb testing.TB, f *gguf.File) {
	table := func(names, ids, prefix string) []string {
		list, err := f.Strings("qwen3-tts.codec." + names)
		if err != nil {
			return nil // a model without speakers
		}
		numbers, err := f.Ints("qwen3-tts.codec." + ids)
		if err != nil {
			tb.Fatal(err)
		}
		for i, n := range list {
			s.Talker.Metadata["qwen3-tts.talker."+prefix+n] = uint32(numbers[i])
		}
		return list
	}
	table("language_names", "language_ids", "codec_language_id.")
	speakers := table("speaker_names", "speaker_ids", "spk_id.")
	dialects, err := f.Strings("qwen3-tts.codec.speaker_dialects")
	if err != nil && len(speakers) > 0 {
		tb.Fatal(err)
	}
	for i, n := range speakers {
		key := "qwen3-tts.talker.spk_is_dialect." + n
		s.Talker.Metadata[key] = false
		if dialects[i] != "" {
			s.Talker.Metadata[key] = dialects[i]
		}
	}
}

// Bundle makes one file of the three.
func (s *Split) Bundle() {
	for _, c := range []*Content{s.Predictor, s.Tokenizer} {
		maps.Copy(s.Talker.Metadata, c.Metadata)
		for _, t := range c.Tensors {
			s.Talker.Add(t, c.Data[t.Name])
		}
	}
	s.Predictor, s.Tokenizer = s.Talker, s.Talker
}

// Write writes the files into dir, named by stem as exporters name them, and returns their paths; those of a bundle
// are one.
func (s *Split) Write(tb testing.TB, dir, stem string) (talker, predictor, tokenizer string) {
	tb.Helper()
	if s.Predictor == s.Talker {
		path := filepath.Join(dir, stem+"-f16.gguf")
		s.Talker.write(tb, path)
		return path, path, path
	}
	talker, predictor = filepath.Join(dir, stem+"-talker-f16.gguf"), filepath.Join(dir, stem+"-code-predictor-f16.gguf")
	tokenizer = filepath.Join(dir, stem+"-tokenizer.gguf")
	s.Talker.write(tb, talker)
	s.Predictor.write(tb, predictor)
	s.Tokenizer.write(tb, tokenizer)
	return talker, predictor, tokenizer
}

func (c *Content) write(tb testing.TB, path string) {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	w, err := gguf.NewWriter(path)
	must(err)
	defer w.Abort()
	for _, key := range slices.Sorted(maps.Keys(c.Metadata)) {
		must(w.Add(key, c.Metadata[key]))
	}
	for _, t := range c.Tensors {
		must(w.Declare(t))
	}
	for _, t := range c.Tensors {
		must(w.Write(t.Name, c.Data[t.Name]))
	}
	must(w.Close())
}
