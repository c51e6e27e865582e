package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	goodVocab  = `{"a": 0, "b": 1, "#": 2, "ab": 3, "##": 4, "#a": 5}`
	goodMerges = "#version: 0.2\na b\n# #\n# a\n"
	goodAdded  = `{"eos_token": "<|im_end|>", "added_tokens_decoder": {"7": {"content": "<|endoftext|>", "special": true}, "8": {"content": "<think>", "special": false}}}`
)

// vocabularyOf writes the three files and reads them, for an embedding of ten rows.
func vocabularyOf(t *testing.T, vocab, merges, added string) (*vocabulary, error) {
	dir := t.TempDir()
	for name, text := range map[string]string{"vocab.json": vocab, "merges.txt": merges, "tokenizer_config.json": added} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	return readVocabulary(dir, 10)
}

func TestVocabulary(t *testing.T) {
	want := &vocabulary{
		tokens: []string{"a", "b", "#", "ab", "##", "#a", "<|unused-6|>", "<|endoftext|>", "<think>"},
		types:  []int32{1, 1, 1, 1, 1, 1, 5, 4, 4},
		merges: []string{"a b", "# #", "# a"},
		eos:    7,
	}
	for name, merges := range map[string]string{
		"as published":       goodMerges,
		"CRLF":               "#version: 0.2\r\na b\r\n# #\r\n# a\r\n",
		"no header":          "a b\n# #\n# a\n",
		"no newline at end":  "#version: 0.2\na b\n# #\n# a",
		"blank lines at end": goodMerges + "\n\n",
	} {
		got, err := vocabularyOf(t, goodVocab, merges, goodAdded)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
	got, err := vocabularyOf(t, goodVocab, "# #\n# a\n", goodAdded)
	require.NoError(t, err)
	assert.Equal(t, []string{"# #", "# a"}, got.merges, "a first line that starts with # may be a merge")
}

func TestVocabularyErrors(t *testing.T) {
	for _, c := range []struct{ vocab, merges, added, want string }{
		{`{`, goodMerges, goodAdded, "vocab.json: unexpected end of JSON input"},
		{`[]`, goodMerges, goodAdded, "vocab.json: json: cannot unmarshal"},
		{`{}`, goodMerges, goodAdded, "vocab.json: no tokens"},
		{`{"a": -1}`, goodMerges, goodAdded, `vocab.json: "a": id -1 is not within the embedding's 10 rows`},
		{`{"a": 1000000000}`, goodMerges, goodAdded, `vocab.json: "a": id 1000000000 is not within`},
		{`{"a": 0.5}`, goodMerges, goodAdded, "vocab.json: json: cannot unmarshal"},
		{`{"a": 0, "b": 0}`, "a b", goodAdded, `vocab.json: id 0 is both "a" and "b"`},
		{`{"": 0}`, goodMerges, goodAdded, "vocab.json: id 0: empty token"},
		{goodVocab, "#version: 0.2\na b\nab\n", goodAdded, `merges.txt: line 3: "ab" is not two tokens`},
		{goodVocab, "a b\n\n# a\n", goodAdded, `merges.txt: line 2: "" is not two tokens`},
		{goodVocab, "a b a\n", goodAdded, `merges.txt: line 1: "a b a" is not two tokens`},
		{goodVocab, "a b\n#version: 0.2\n", goodAdded, `merges.txt: line 2: "#version:" is not in vocab.json`},
		{goodVocab, "b a\n", goodAdded, `merges.txt: line 1: "ba" is not in vocab.json`},
		{goodVocab, "", goodAdded, "merges.txt: line 1"},
		{goodVocab, goodMerges, `{}`, "tokenizer_config.json: added_tokens_decoder: missing"},
		{goodVocab, goodMerges, `{"added_tokens_decoder": {"x": {}}}`, "tokenizer_config.json: added_tokens_decoder.x: not an id"},
		{goodVocab, goodMerges, `{"added_tokens_decoder": {"10": {"content": "x"}}}`, "added_tokens_decoder.10: not an id within the embedding's 10 rows"},
		{goodVocab, goodMerges, `{"added_tokens_decoder": {"9": {}}}`, "added_tokens_decoder.9.content: missing"},
		{goodVocab, goodMerges, `{"added_tokens_decoder": {"8": {"content": "x"}, "9": {"content": "x"}}}`, `added_tokens_decoder.9: token "x" occurs twice`},
		{goodVocab, goodMerges, `{"added_tokens_decoder": {"0": {"content": "<|endoftext|>"}}}`, `tokenizer_config.json: id 0 is both "<|endoftext|>" and "a"`},
		{goodVocab, goodMerges, `{"added_tokens_decoder": {}}`, "no token is <|endoftext|>"},
	} {
		_, err := vocabularyOf(t, c.vocab, c.merges, c.added)
		assert.ErrorIs(t, err, ErrInput, c.want)
		assert.ErrorContains(t, err, c.want)
	}
	for _, file := range []string{"vocab.json", "merges.txt", "tokenizer_config.json"} {
		dir := t.TempDir()
		for name, text := range map[string]string{"vocab.json": goodVocab, "merges.txt": goodMerges, "tokenizer_config.json": goodAdded} {
			if name != file {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
			}
		}
		_, err := readVocabulary(dir, 10)
		assert.ErrorContains(t, err, file+": missing in "+dir)
	}
}
