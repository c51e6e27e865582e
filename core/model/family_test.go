package model_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/tests/golden"
)

// small is a type of weights whose files are small.
const small = "Q8_0"

// open writes a model of the second family and opens it as the first.
func open(t *testing.T, s *golden.Split, mode string) (*gguf.File, []string, error) {
	t.Helper()
	talker, predictor, tokenizer := s.Write(t, t.TempDir(), "tiny")
	f, notes, err := model.OpenLM(model.Paths{Talker: talker, Predictor: predictor, Tokenizer: tokenizer}, mode)
	if err == nil {
		t.Cleanup(func() { f.Close() })
	}
	return f, notes, err
}

// first opens the same model as the first family spells it.
func first(t *testing.T, name, typ string) *gguf.File {
	t.Helper()
	f, notes, err := model.OpenLM(model.Paths{Talker: golden.GGUF(t, name, typ)}, "")
	require.NoError(t, err)
	assert.Empty(t, notes)
	t.Cleanup(func() { f.Close() })
	return f
}

// same wants two files with the same geometry, vocabulary, sampling and tensors.
func same(t *testing.T, want, got *gguf.File) {
	t.Helper()
	wantConfig, err := lm.ReadConfig(want)
	require.NoError(t, err)
	config, err := lm.ReadConfig(got)
	require.NoError(t, err)
	assert.Equal(t, wantConfig, config)

	wantVocab, _, err := model.ReadVocab(want)
	require.NoError(t, err)
	vocab, tok, err := model.ReadVocab(got)
	require.NoError(t, err)
	sortTables(wantVocab)
	sortTables(vocab)
	assert.Equal(t, wantVocab, vocab)
	assert.Zero(t, tok.Restored())

	wantGeneration, err := model.ReadGeneration(want)
	require.NoError(t, err)
	generation, err := model.ReadGeneration(got)
	require.NoError(t, err)
	assert.Equal(t, wantGeneration, generation)

	assert.Equal(t, tensorNames(want), tensorNames(got))
	for _, w := range want.Tensors() {
		g := got.Tensor(w.Name)
		assert.Equal(t, w.Shape, g.Shape, w.Name)
		assert.Equal(t, string(want.Data(&w)), string(got.Data(g)), w.Name)
	}
}

// sortTables puts tables whose order tells nothing into one.
func sortTables(v *prompt.Vocab) {
	slices.SortFunc(v.Languages, func(a, b prompt.Language) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(v.Speakers, func(a, b prompt.Speaker) int { return strings.Compare(a.Name, b.Name) })
}

func tensorNames(f *gguf.File) []string {
	var names []string
	for _, t := range f.Tensors() {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

var talkers = []string{"tiny-customvoice-17", "tiny-voicedesign-17", "tiny-base-17", "tiny-customvoice-06", "tiny-base-06"}

// TestSplitAndBundle: three files, and one, are the same model as a file of the first family.
func TestSplitAndBundle(t *testing.T) {
	for _, name := range talkers {
		for _, bundle := range []bool{false, true} {
			s := golden.Second(t, name, small)
			if bundle {
				s.Bundle()
			}
			f, notes, err := open(t, s, "")
			require.NoError(t, err, name)
			assert.Empty(t, notes)
			same(t, first(t, name, small), f)
		}
	}
}

// TestTokenizerInTheTalker: two files, the tokenizer in the talker's.
func TestTokenizerInTheTalker(t *testing.T) {
	s := golden.Second(t, custom, small)
	maps.Copy(s.Talker.Metadata, s.Tokenizer.Metadata)
	talker, predictor, _ := s.Write(t, t.TempDir(), "tiny")
	f, _, err := model.OpenLM(model.Paths{Talker: talker, Predictor: predictor}, "")
	require.NoError(t, err)
	defer f.Close()
	same(t, first(t, custom, small), f)
}

// TestBundleBesideParts: of a bundle only that is taken which no other file is given for.
func TestBundleBesideParts(t *testing.T) {
	apart, bundled := golden.Second(t, custom, "F32"), golden.Second(t, custom, small)
	bundled.Bundle()
	bundle, _, _ := bundled.Write(t, t.TempDir(), "tiny")
	_, predictor, tokenizer := apart.Write(t, t.TempDir(), "tiny")
	f, _, err := model.OpenLM(model.Paths{Talker: bundle, Predictor: predictor, Tokenizer: tokenizer}, "")
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, gguf.Q8_0, f.Tensor("talker.blk.0.attn_q.weight").Type)
	assert.Equal(t, gguf.F32, f.Tensor("code_pred.blk.0.attn_q.weight").Type)
	assert.Equal(t, gguf.F32, f.Tensor("code_pred.mtp_proj.weight").Type)
}

// TestAliases: every other spelling of every key.
func TestAliases(t *testing.T) {
	type alias struct{ file, from, to string }
	aliases := []alias{
		{"talker", "qwen3-tts.talker.embedding_length", "qwen3-tts.talker.hidden_size"},
		{"talker", "qwen3-tts.talker.embedding_length", "qwen3-tts.embedding_length"},
		{"talker", "qwen3-tts.talker.block_count", "qwen3-tts.talker.layer_count"},
		{"talker", "qwen3-tts.talker.block_count", "qwen3-tts.block_count"},
		{"talker", "qwen3-tts.talker.feed_forward_length", "qwen3-tts.feed_forward_length"},
		{"talker", "qwen3-tts.talker.attention.", "qwen3-tts.attention."},
		{"talker", "qwen3-tts.talker.rope.freq_base", "qwen3-tts.rope.freq_base"},
		{"talker", "qwen3-tts.talker.vocab_size", "qwen3-tts.talker.codec_vocab_size"},
		{"talker", "qwen3-tts.talker.vocab_size", "qwen3-tts.vocab_size"},
		{"talker", "qwen3-tts.talker.text_vocab_size", "qwen3-tts.text.vocab_size"},
		{"talker", "qwen3-tts.talker.text_vocab_size", "qwen3-tts.text_vocab_size"},
		{"talker", "qwen3-tts.talker.text_hidden_size", "qwen3-tts.text.embedding_dim"},
		{"talker", "qwen3-tts.talker.text_hidden_size", "qwen3-tts.text_hidden_size"},
		{"talker", "qwen3-tts.talker.context_length", "qwen3-tts.context_length"},
		{"talker", "qwen3-tts.num_code_groups", "qwen3-tts.talker.num_codebooks"},
		{"talker", "qwen3-tts.num_code_groups", "qwen3-tts.talker.num_code_groups"},
		{"talker", "qwen3-tts.codec.eos_id", "qwen3-tts.codec.eos_token_id"},
		{"talker", "qwen3-tts.codec.think_id", "qwen3-tts.codec_think_id"},
		{"talker", "qwen3-tts.codec.nothink_id", "qwen3-tts.codec_nothink_id"},
		{"talker", "qwen3-tts.codec.think_bos_id", "qwen3-tts.codec_think_bos_id"},
		{"talker", "qwen3-tts.codec.think_eos_id", "qwen3-tts.codec_think_eos_id"},
		{"talker", "qwen3-tts.text.tts_pad_id", "qwen3-tts.tts_pad_token_id"},
		{"talker", "qwen3-tts.text.tts_bos_id", "qwen3-tts.tts.bos_token_id"},
		{"talker", "qwen3-tts.text.tts_eos_id", "qwen3-tts.tts.eos_id"},
		{"talker", "qwen3-tts.talker.codec_language_id.english", "qwen3-tts.language.english_id"},
		{"talker", "qwen3-tts.talker.codec_language_id.english", "qwen3-tts.codec.language.english_id"},
		{"talker", "qwen3-tts.tts_model_type", "qwen3-tts.model_type"},
		{"predictor", "qwen3-tts.code_pred.embedding_length", "qwen3-tts.code_predictor.embedding_length"},
		{"predictor", "qwen3-tts.code_pred.attention.", "qwen3-tts.code_predictor.attention."},
		{"predictor", "qwen3-tts.code_pred.rope.", "qwen3-tts.code_predictor.rope."},
		{"predictor", "qwen3-tts.code_pred.vocab_size", "qwen3-tts.code_predictor.vocab_size"},
		{"predictor", "qwen3-tts.code_pred.feed_forward_length", "qwen3-tts.code_predictor.feed_forward_length"},
		{"predictor", "qwen3-tts.code_pred.embedding_length", "qwen3-tts.code_pred.hidden_size"},
		{"predictor", "qwen3-tts.code_pred.block_count", "qwen3-tts.code_pred.layer_count"},
		{"predictor", "qwen3-tts.code_pred.block_count", "qwen3-tts.code_predictor.layer_count"},
	}
	// One model has one spelling of each key; as many models as the key with the most spellings.
	for round := 0; len(aliases) > 0; round++ {
		s := golden.Second(t, custom, small)
		done := map[string]bool{}
		aliases = slices.DeleteFunc(aliases, func(a alias) bool {
			if done[a.from] {
				return false
			}
			done[a.from] = true
			content := s.Talker
			if a.file == "predictor" {
				content = s.Predictor
			}
			content.Rename(a.from, a.to)
			return true
		})
		f, notes, err := open(t, s, "")
		require.NoError(t, err, "round %d", round)
		assert.Empty(t, notes, "round %d", round)
		same(t, first(t, custom, small), f)
	}
}

// TestAliasesAreRead: a key under another spelling is read, not fallen back from.
func TestAliasesAreRead(t *testing.T) {
	for key, want := range map[string]string{
		"qwen3-tts.talker.hidden_size":                  "qwen3-tts.talker.embedding_length",
		"qwen3-tts.block_count":                         "qwen3-tts.talker.block_count",
		"qwen3-tts.attention.head_count_kv":             "qwen3-tts.talker.attention.head_count_kv",
		"qwen3-tts.code_predictor.hidden_size":          "qwen3-tts.code_pred.embedding_length",
		"qwen3-tts.code_predictor.layer_count":          "qwen3-tts.code_pred.block_count",
		"qwen3-tts.code_pred.attention.key_length":      "qwen3-tts.code_pred.attention.key_length",
		"qwen3-tts.code_predictor.attention.head_count": "qwen3-tts.code_pred.attention.head_count",
	} {
		s := golden.Second(t, custom, small)
		s.Talker.Drop(want)
		s.Predictor.Drop(want)
		content := s.Talker
		if strings.Contains(key, "code_pred") {
			content = s.Predictor
		}
		content.Metadata[key] = uint32(7)
		if want == "qwen3-tts.code_pred.embedding_length" || want == "qwen3-tts.talker.embedding_length" {
			_, _, err := open(t, s, "")
			assert.ErrorContains(t, err, "small_to_mtp_projection.weight: shape [256 x 128], want", key)
			continue
		}
		f, _, err := open(t, s, "")
		require.NoError(t, err, key)
		n, err := f.Int(want)
		require.NoError(t, err)
		assert.Equal(t, 7, n, key)
	}
}

// TestPredictorTensorFallbackReadsIndependentGeometry: without any metadata of the predictor its tensors tell its
// width, heads and FFN width, which are not the talker's.
func TestPredictorTensorFallbackReadsIndependentGeometry(t *testing.T) {
	for _, name := range talkers {
		s := golden.Second(t, name, small)
		s.Predictor.Drop("qwen3-tts.")
		f, notes, err := open(t, s, "")
		require.NoError(t, err)
		assert.Empty(t, notes)
		same(t, first(t, name, small), f)
	}
	c, err := lm.ReadConfig(first(t, custom, small))
	require.NoError(t, err)
	assert.NotEqual(t, c.Talker.Width, c.Predictor.Width)
	assert.NotEqual(t, c.Talker.FFN, c.Predictor.FFN)
}

// TestTalkerTensorFallback: the same for the talker; what no tensor tells is that of the official checkpoints, and noted.
func TestTalkerTensorFallback(t *testing.T) {
	s := golden.Second(t, custom, small)
	s.Talker.Drop("qwen3-tts.talker.embedding_length", "qwen3-tts.talker.block_count", "qwen3-tts.talker.feed_forward_length",
		"qwen3-tts.talker.attention.", "qwen3-tts.talker.rope.", "qwen3-tts.talker.vocab_size", "qwen3-tts.talker.text_", "qwen3-tts.talker.context_length",
		"qwen3-tts.num_code_groups")
	f, notes, err := open(t, s, "")
	require.NoError(t, err)
	same(t, first(t, custom, small), f)
	assert.Equal(t, []string{"not in the files, taken from the official checkpoints: qwen3-tts.talker.attention.layer_norm_rms_epsilon, " +
		"qwen3-tts.talker.rope.freq_base, qwen3-tts.talker.context_length"}, notes)
}

// TestOldestFiles: the metadata that the first exporters of this family wrote.
func TestOldestFiles(t *testing.T) {
	s := golden.Second(t, "tiny-base-06", small)
	s.Bundle()
	all := s.Talker.Metadata
	s.Talker.Rename("qwen3-tts.talker.", "qwen3-tts.")
	s.Talker.Metadata = map[string]any{"qwen3-tts.code_predictor.layer_count": all["qwen3-tts.code_pred.block_count"],
		"qwen3-tts.code_predictor.vocab_size": all["qwen3-tts.code_pred.vocab_size"]}
	for _, key := range []string{"general.architecture", "general.name", "qwen3-tts.block_count", "qwen3-tts.embedding_length",
		"qwen3-tts.feed_forward_length", "qwen3-tts.attention.head_count", "qwen3-tts.attention.head_count_kv", "qwen3-tts.attention.key_length",
		"qwen3-tts.rope.freq_base", "qwen3-tts.attention.layer_norm_rms_epsilon", "qwen3-tts.vocab_size", "qwen3-tts.text_vocab_size",
		"qwen3-tts.text_hidden_size", "qwen3-tts.num_code_groups", "qwen3-tts.codec.pad_id", "qwen3-tts.codec.bos_id", "qwen3-tts.codec.eos_id",
		"tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.merges", "tokenizer.ggml.model"} {
		require.Contains(t, all, key)
		s.Talker.Metadata[key] = all[key]
	}
	for key, v := range all {
		if strings.HasPrefix(key, "generation.") {
			s.Talker.Metadata[key] = v
		}
	}
	f, notes, err := open(t, s, "")
	require.NoError(t, err)
	require.Len(t, notes, 1)
	for _, key := range []string{"codec.think_id", "codec.nothink_id", "codec.think_bos_id", "codec.think_eos_id", "talker.context_length", "talker.codec_language_id.*"} {
		assert.Contains(t, notes[0], "qwen3-tts."+key)
	}
	want := first(t, "tiny-base-06", small)
	v, _, err := model.ReadVocab(f)
	require.NoError(t, err)
	w, _, err := model.ReadVocab(want)
	require.NoError(t, err)
	assert.Equal(t, prompt.Base, v.ModelType, "by its speaker encoder")
	assert.Equal(t, "0.6b", v.ModelSize, "by its widths")
	assert.Equal(t, w.Codec, v.Codec)
	assert.Equal(t, w.Text, v.Text)
	for _, l := range w.Languages { // all but the dialects
		if !strings.HasSuffix(l.Name, "dialect") {
			assert.Contains(t, v.Languages, l)
		}
	}
	assert.Len(t, v.Languages, 10)
}

// TestSpecialTokensByGeneralKeys: a tokenizer whose special tokens have no names has those that it points at.
func TestSpecialTokensByGeneralKeys(t *testing.T) {
	s := golden.Second(t, custom, small)
	s.Talker.Drop("qwen3-tts.text.im_")
	want := first(t, custom, small)
	start, err := want.Int("qwen3-tts.text.im_start_id")
	require.NoError(t, err)
	end, err := want.Int("qwen3-tts.text.im_end_id")
	require.NoError(t, err)
	tokens, err := want.Strings("tokenizer.ggml.tokens")
	require.NoError(t, err)
	tokens[start], tokens[end] = "[PAD1]", "[PAD2]"
	s.Tokenizer.Metadata["tokenizer.ggml.tokens"] = tokens
	s.Tokenizer.Metadata["tokenizer.ggml.bos_token_id"] = uint32(start)
	s.Tokenizer.Metadata["tokenizer.ggml.eos_token_id"] = uint32(end)
	f, _, err := open(t, s, "")
	require.NoError(t, err)
	v, _, err := model.ReadVocab(f)
	require.NoError(t, err)
	assert.Equal(t, []int32{int32(start), int32(end)}, []int32{v.Text.IMStart, v.Text.IMEnd})
}

// TestOneSevenBPredictorMetadataIsNotTalkerGeometry: both sets of keys side by side, the real 1.7B widths among them.
func TestOneSevenBPredictorMetadataIsNotTalkerGeometry(t *testing.T) {
	s := golden.Second(t, custom, small)
	for key, n := range map[string]uint32{"embedding_length": 2048, "feed_forward_length": 6144} {
		s.Talker.Metadata["qwen3-tts.talker."+key] = n
	}
	for key, n := range map[string]uint32{"embedding_length": 1024, "feed_forward_length": 3072} {
		s.Predictor.Metadata["qwen3-tts.code_pred."+key] = n
	}
	for suffix, shape := range map[string][]int64{".weight": {2048, 1024}, ".bias": {1024}} {
		name := "code_pred.small_to_mtp_projection" + suffix
		i := slices.IndexFunc(s.Predictor.Tensors, func(t gguf.TensorInfo) bool { return t.Name == name })
		s.Predictor.Tensors[i] = gguf.TensorInfo{Name: name, Type: gguf.F16, Shape: shape}
		n := int64(2)
		for _, d := range shape {
			n *= d
		}
		s.Predictor.Data[name] = make([]byte, n)
	}
	f, _, err := open(t, s, "")
	require.NoError(t, err)
	c, err := lm.ReadConfig(f)
	require.NoError(t, err)
	assert.Equal(t, []int{2048, 6144, 1024, 3072}, []int{c.Talker.Width, c.Talker.FFN, c.Predictor.Width, c.Predictor.FFN})
	assert.Equal(t, []int64{2048, 1024}, f.Tensor("code_pred.mtp_proj.weight").Shape)
}

// TestSeparateGGUFsReadPredictorConfigAndProjectionFromEitherFile: the predictor's keys count in its file only; the
// projection may be in either file, under any of its names.
func TestSeparateGGUFsReadPredictorConfigAndProjectionFromEitherFile(t *testing.T) {
	for _, prefix := range []string{"code_pred.small_to_mtp_projection", "talker.code_predictor.small_to_mtp_projection", "small_to_mtp_projection"} {
		for _, inTalker := range []bool{false, true} {
			s := golden.Second(t, custom, small)
			to := s.Predictor
			if inTalker {
				to = s.Talker
			}
			for _, suffix := range []string{".weight", ".bias"} {
				s.Predictor.Move("code_pred.small_to_mtp_projection"+suffix, to, prefix+suffix)
			}
			s.Talker.Metadata["qwen3-tts.code_pred.embedding_length"] = uint32(77) // of no account here
			f, _, err := open(t, s, "")
			require.NoError(t, err, "%s %v", prefix, inTalker)
			same(t, first(t, custom, small), f)
		}
	}
}

// TestProjectionShapeErrorsFailBeforeGraphConstruction: equal widths need none; else it must be there wholly, in shape.
func TestProjectionShapeErrorsFailBeforeGraphConstruction(t *testing.T) {
	const weight, bias = "code_pred.small_to_mtp_projection.weight", "code_pred.small_to_mtp_projection.bias"
	_, _, err := open(t, golden.Second(t, "tiny-customvoice-06", small), "")
	require.NoError(t, err, "equal widths, no projection")

	reshape := func(name string, shape ...int64) func(s *golden.Split) {
		return func(s *golden.Split) {
			i := slices.IndexFunc(s.Predictor.Tensors, func(t gguf.TensorInfo) bool { return t.Name == name })
			n := int64(4)
			for _, d := range shape {
				n *= d
			}
			s.Predictor.Tensors[i] = gguf.TensorInfo{Name: name, Type: gguf.F32, Shape: shape}
			s.Predictor.Data[name] = make([]byte, n)
		}
	}
	drop := func(names ...string) func(s *golden.Split) {
		return func(s *golden.Split) {
			for _, n := range names {
				s.Predictor.Move(n, &golden.Content{Data: map[string][]byte{}}, n)
			}
		}
	}
	for want, change := range map[string]func(*golden.Split){
		weight + ": missing: a code predictor of width 128 needs a projection from the talker's 256": drop(weight, bias),
		weight + ": has no bias beside it":               drop(bias),
		bias + ": has no weight beside it":               drop(weight),
		weight + ": shape [128 x 256], want [256 x 128]": reshape(weight, 128, 256),
		bias + ": shape [256], want [128]":               reshape(bias, 256),
		weight + ": shape [256], want [256 x 128]":       reshape(weight, 256),
	} {
		s := golden.Second(t, custom, small)
		change(s)
		_, _, err := open(t, s, "")
		assert.ErrorContains(t, err, want)
	}
}

// TestPresetsUseMetadataIDsAndDialectLanguage: any ids; a dialect stands in for Chinese and for no language only; a
// speaker that the file lacks is an error.
func TestPresetsUseMetadataIDsAndDialectLanguage(t *testing.T) {
	s := golden.Second(t, custom, small)
	s.Talker.Drop("qwen3-tts.talker.spk_id.", "qwen3-tts.talker.spk_is_dialect.")
	s.Talker.Metadata["qwen3-tts.talker.spk_id.vivian"] = uint32(33)
	s.Talker.Metadata["qwen3-tts.talker.spk_id.dylan"] = uint32(44)
	s.Talker.Metadata["qwen3-tts.talker.spk_is_dialect.dylan"] = "moon_dialect"
	s.Talker.Metadata["qwen3-tts.talker.spk_is_dialect.vivian"] = false
	s.Talker.Metadata["qwen3-tts.talker.codec_language_id.moon_dialect"] = uint32(55)
	f, _, err := open(t, s, "")
	require.NoError(t, err)
	v, tok, err := model.ReadVocab(f)
	require.NoError(t, err)
	ids := func(speaker, language string) []int32 {
		p, err := prompt.Build(tok, v, prompt.Input{Text: "Hello.", Speaker: speaker, Language: language})
		require.NoError(t, err)
		var ids []int32
		for _, r := range p.Rows {
			if r.Codec != prompt.None {
				ids = append(ids, r.Codec)
			}
		}
		return ids
	}
	assert.Contains(t, ids("vivian", ""), int32(33))
	assert.Contains(t, ids("Dylan", ""), int32(44))
	assert.Contains(t, ids("dylan", ""), int32(55))
	assert.Contains(t, ids("dylan", "Chinese"), int32(55))
	assert.NotContains(t, ids("dylan", "english"), int32(55))
	assert.NotContains(t, ids("vivian", "chinese"), int32(55))
	_, err = prompt.Build(tok, v, prompt.Input{Text: "Hello.", Speaker: "serena"})
	assert.ErrorIs(t, err, prompt.ErrSpeaker)
	assert.ErrorContains(t, err, "serena")
}

func TestBrokenPresets(t *testing.T) {
	for want, set := range map[string]map[string]any{
		"qwen3-tts.talker.spk_id.vivian":                                                                      {"qwen3-tts.talker.spk_id.vivian": "33"},
		"qwen3-tts.talker.spk_is_dialect.vivian: true is no dialect":                                          {"qwen3-tts.talker.spk_is_dialect.vivian": true},
		"qwen3-tts.talker.spk_is_dialect.eric: \"klingon\" has no qwen3-tts.talker.codec_language_id.klingon": {"qwen3-tts.talker.spk_is_dialect.eric": "klingon"},
		"qwen3-tts.talker.spk_is_dialect.eric":                                                                {"qwen3-tts.talker.spk_is_dialect.eric": uint32(3)},
		"qwen3-tts.talker.codec_language_id.english":                                                          {"qwen3-tts.talker.codec_language_id.english": []string{"x"}},
		"qwen3-tts.tts_model_type: \"karaoke\" is not base":                                                   {"qwen3-tts.tts_model_type": "karaoke"},
		"qwen3-tts.talker.rope.freq_base":                                                                     {"qwen3-tts.talker.rope.freq_base": "many"},
		"qwen3-tts.talker.embedding_length":                                                                   {"qwen3-tts.talker.embedding_length": float32(1.5)},
	} {
		s := golden.Second(t, custom, small)
		maps.Copy(s.Talker.Metadata, set)
		_, _, err := open(t, s, "")
		assert.ErrorContains(t, err, want)
	}
	s := golden.Second(t, custom, small)
	s.Talker.Metadata["qwen3-tts.talker.spk_id.vivian"] = uint32(1536)
	f, _, err := open(t, s, "")
	require.NoError(t, err)
	_, _, err = model.ReadVocab(f)
	assert.ErrorContains(t, err, "vivian: 1536 is outside [0, 1536)")
}

// TestMode: what the file says, what is asked for where it does not, and where they differ.
func TestMode(t *testing.T) {
	for _, c := range []struct {
		name, asked, want string
		silent            bool
	}{
		{custom, "", prompt.CustomVoice, false},
		{custom, prompt.CustomVoice, prompt.CustomVoice, false},
		{custom, prompt.Base, "", false},
		{custom, "", prompt.CustomVoice, true},  // by its speakers
		{"tiny-base-17", "", prompt.Base, true}, // by its speaker encoder
		{"tiny-voicedesign-17", prompt.VoiceDesign, prompt.VoiceDesign, true},
		{"tiny-voicedesign-17", "", "", true},
	} {
		s := golden.Second(t, c.name, small)
		if c.silent {
			s.Talker.Drop("qwen3-tts.tts_model_")
		}
		f, _, err := open(t, s, c.asked)
		if c.want == "" {
			assert.ErrorIs(t, err, model.ErrMode, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		v, _, err := model.ReadVocab(f)
		require.NoError(t, err)
		assert.Equal(t, c.want, v.ModelType, "%+v", c)
		assert.Equal(t, "1.7b", v.ModelSize)
	}
	_, _, err := model.OpenLM(model.Paths{Talker: golden.GGUF(t, custom, "F32")}, prompt.Base)
	assert.ErrorIs(t, err, model.ErrMode)
	assert.ErrorContains(t, err, "this is a custom_voice model, base was asked for")
	for spelt, want := range map[string]string{"0b6": "0.6b", "1B7": "1.7b", "0.6B": "0.6b"} {
		s := golden.Second(t, custom, small)
		s.Talker.Metadata["qwen3-tts.tts_model_size"] = spelt
		f, _, err := open(t, s, "")
		require.NoError(t, err)
		got, err := f.String("qwen3-tts.model_size")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// TestBrokenFiles: what is missing or too much names its file or tensor.
func TestBrokenFiles(t *testing.T) {
	s := golden.Second(t, custom, small)
	s.Talker.Move("talker.output_norm.weight", s.Talker, "talker.odd.weight")
	s.Talker.Drop("qwen3-tts.talker.embedding_length")
	_, _, err := open(t, s, "")
	assert.ErrorContains(t, err, "qwen3-tts.talker.embedding_length: missing, and so is the tensor that would tell it, talker.output_norm.weight")

	s = golden.Second(t, custom, small)
	s.Predictor.Move("code_pred.output_norm.weight", s.Predictor, "something.weight")
	_, _, err = open(t, s, "")
	assert.ErrorContains(t, err, "tiny-code-predictor-f16.gguf: something.weight: surplus")

	talker, predictor, _ := golden.Second(t, custom, small).Write(t, t.TempDir(), "tiny")
	for _, p := range []model.Paths{
		{Talker: talker + "x", Predictor: predictor},
		{Talker: talker, Predictor: predictor + "x"},
		{Talker: talker, Predictor: predictor, Tokenizer: "none.gguf"},
	} {
		_, _, err = model.OpenLM(p, "")
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
	for want, p := range map[string]model.Paths{
		"tiny-talker-f16.gguf has no text tokenizer (tokenizer.ggml.tokens); if it has a file of its own, name that as tokenizer_path": {Talker: talker, Predictor: predictor},
		"tiny-talker-f16.gguf has no code predictor (tensors code_pred.…); if it has a file of its own, name that as predictor_path":   {Talker: talker},
		"tiny-code-predictor-f16.gguf has no talker (tensors talker.…)":                                                                {Talker: predictor},
	} {
		_, _, err = model.OpenLM(p, "")
		assert.ErrorContains(t, err, want)
	}
	_, _, err = model.OpenLM(model.Paths{Talker: golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), Predictor: predictor}, "")
	assert.ErrorContains(t, err, "not the talker")
}

// touch makes empty files.
func touch(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, n), nil, 0o666))
	}
}

// TestModeSpecific17BPathsShareVocoder: the default names of all modes, and the one vocoder.
func TestModeSpecific17BPathsShareVocoder(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]bool{}
	for mode, name := range map[string]string{prompt.Base: "base", prompt.CustomVoice: "customvoice", prompt.VoiceDesign: "voicedesign"} {
		p := model.DefaultPaths(dir, mode)
		assert.Equal(t, model.Paths{
			Talker:    filepath.Join(dir, "qwen3-tts-1.7b-"+name+"-talker-f16.gguf"),
			Predictor: filepath.Join(dir, "qwen3-tts-1.7b-"+name+"-code-predictor-f16.gguf"),
			Tokenizer: filepath.Join(dir, "qwen3-tts-1.7b-"+name+"-tokenizer.gguf"),
			Codec:     filepath.Join(dir, "qwen3-tts-vocoder.onnx"),
		}, p)
		for _, path := range []string{p.Talker, p.Predictor, p.Tokenizer} {
			assert.False(t, seen[path])
			seen[path] = true
			touch(t, dir, filepath.Base(path))
		}
	}
	touch(t, dir, "qwen3-tts-vocoder.onnx")
	for _, mode := range []string{prompt.Base, prompt.CustomVoice, prompt.VoiceDesign} {
		p, err := model.FindDir(dir, mode)
		require.NoError(t, err)
		assert.Equal(t, model.DefaultPaths(dir, mode), p)
	}
	_, err := model.FindDir(dir, "")
	assert.ErrorIs(t, err, model.ErrMode)
	assert.ErrorContains(t, err, "has models for base, custom_voice, voice_design: say which")
}

// TestModePathsResolveSplitQuantizationOrBundledExport: each file at its best type; a bundle stands for all three.
func TestModePathsResolveSplitQuantizationOrBundledExport(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	find := func(mode string) model.Paths {
		p, err := model.FindDir(dir, mode)
		require.NoError(t, err)
		return p
	}
	const stem = "qwen3-tts-1.7b-base-"
	touch(t, dir, stem+"talker-q4_k.gguf", stem+"code-predictor-q5_k.gguf", stem+"tokenizer.gguf")
	assert.Equal(t, model.Paths{Talker: in(stem + "talker-q4_k.gguf"), Predictor: in(stem + "code-predictor-q5_k.gguf"), Tokenizer: in(stem + "tokenizer.gguf")}, find(""))
	for _, typ := range []string{"q5_k", "q6_k", "q8_0", "f16"} {
		touch(t, dir, stem+"talker-"+typ+".gguf")
		assert.Equal(t, in(stem+"talker-"+typ+".gguf"), find(prompt.Base).Talker)
	}
	assert.Equal(t, in(stem+"code-predictor-q5_k.gguf"), find(prompt.Base).Predictor)
	for _, typ := range []string{"q4_k", "q8_0", "f16"} {
		touch(t, dir, stem+typ+".gguf")
		assert.Equal(t, model.Paths{Talker: in(stem + typ + ".gguf")}, find(prompt.Base))
	}
}

// TestFindDir: the smaller size, names without a mode, the first family, and what is in none of them.
func TestFindDir(t *testing.T) {
	for _, c := range []struct {
		names       []string
		mode, found string
		codec       string
	}{
		{[]string{"qwen3-tts-0.6b-customvoice-q8_0.gguf", "qwen3-tts-vocoder.onnx"}, "", "qwen3-tts-0.6b-customvoice-q8_0.gguf", "qwen3-tts-vocoder.onnx"},
		{[]string{"qwen3-tts-0.6b-customvoice-f16.gguf", "qwen3-tts-1.7b-customvoice-q4_k.gguf"}, "", "qwen3-tts-1.7b-customvoice-q4_k.gguf", ""},
		{[]string{"qwen3-tts-0.6b-q8_0.gguf", "qwen3-tts-0.6b-f16.gguf"}, prompt.Base, "qwen3-tts-0.6b-f16.gguf", ""},
		{[]string{"qwen-talker-1.7b-voicedesign-Q8_0.gguf", "qwen-talker-1.7b-voicedesign-F32.gguf", "qwen-tokenizer-12hz-Q8_0.gguf", "qwen-tokenizer-12hz-F32.gguf", "qwen3-tts-vocoder.onnx"},
			prompt.VoiceDesign, "qwen-talker-1.7b-voicedesign-Q8_0.gguf", "qwen-tokenizer-12hz-F32.gguf"},
	} {
		dir := t.TempDir()
		touch(t, dir, c.names...)
		p, err := model.FindDir(dir, c.mode)
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(dir, c.found), p.Talker)
		codec := c.codec
		if codec != "" {
			codec = filepath.Join(dir, codec)
		}
		assert.Equal(t, codec, p.Codec)
	}
	dir := t.TempDir()
	_, err := model.FindDir(dir, prompt.Base)
	assert.ErrorContains(t, err, "no base model: config.json: missing in ")
	assert.ErrorContains(t, err, "no file is named like qwen3-tts-1.7b-base-talker-f16.gguf")
	touch(t, dir, "mine.gguf", "qwen3-tts-1.7b-base-f16.gguf")
	_, err = model.FindDir(dir, prompt.CustomVoice)
	assert.ErrorContains(t, err, "no custom_voice model")
	assert.ErrorContains(t, err, "none of its 2 GGUF files has such a name")
	_, err = model.FindDir(filepath.Join(dir, "none"), "")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestParseMode(t *testing.T) {
	for in, want := range map[string]string{"base": "base", "Custom-Voice": "custom_voice", "customvoice": "custom_voice", "VoiceDesign": "voice_design", "voice design": "voice_design"} {
		m, err := model.ParseMode(in)
		require.NoError(t, err)
		assert.Equal(t, want, m)
	}
	_, err := model.ParseMode("karaoke")
	assert.EqualError(t, err, `"karaoke" is not base, custom_voice or voice_design`)
	assert.Equal(t, fmt.Sprint(len(model.Presets)), "9")
}
