package bpe_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/libqwen/libqwen/core/bpe"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goldenCases are texts with the ids that the reference tokenizer gives them,
// literals of special tokens parsed.
type goldenCases struct {
	Cases []struct {
		Text string
		IDs  []int32
	}
}

func checkGolden(t *testing.T, tok *bpe.Tokenizer, file string) {
	t.Helper()
	var g goldenCases
	golden.JSON(t, file, &g)
	require.Greater(t, len(g.Cases), 100)
	for _, c := range g.Cases {
		assert.Equal(t, c.IDs, nonNil(tok.EncodeSpecial(c.Text)), "%q", c.Text)
	}
}

func nonNil(ids []int32) []int32 { return append([]int32{}, ids...) }

// newConfig returns a vocabulary of n tokens, all unused.
func newConfig(n int) bpe.Config {
	return bpe.Config{Tokens: make([]string, n), TokenTypes: slices.Repeat([]int32{bpe.Unused}, n)}
}

func set(c bpe.Config, id int32, token string, typ int32) {
	c.Tokens[id], c.TokenTypes[id] = token, typ
}

func TestTinyVocabulary(t *testing.T) {
	c := tinyConfig(t)
	tok, err := bpe.New(c)
	require.NoError(t, err)
	assert.Zero(t, tok.Restored())
	checkGolden(t, tok, "tokenizer_tiny.json")
}

// tinyConfig reads the tokenizer of the tiny checkpoints, in Hugging Face's layout.
func tinyConfig(t testing.TB) bpe.Config {
	var vocab map[string]int32
	readJSON(t, golden.Path(t, "models", "tiny-base-17", "vocab.json"), &vocab)
	var added struct {
		Tokens map[int32]struct{ Content string } `json:"added_tokens_decoder"`
	}
	readJSON(t, golden.Path(t, "models", "tiny-base-17", "tokenizer_config.json"), &added)

	c := newConfig(len(vocab) + len(added.Tokens))
	for token, id := range vocab {
		set(c, id, token, bpe.Normal)
	}
	for id, token := range added.Tokens {
		set(c, id, token.Content, bpe.Control)
	}
	f, err := os.Open(golden.Path(t, "models", "tiny-base-17", "merges.txt"))
	require.NoError(t, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	require.True(t, s.Scan()) // the header
	for s.Scan() {
		c.Merges = append(c.Merges, s.Text())
	}
	require.NoError(t, s.Err())
	return c
}

func readJSON(t testing.TB, file string, v any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, v), file)
}

// TestRealVocabulary runs on an excerpt of the real vocabulary, which has all that
// can take part in tokenising the golden strings and some more.
func TestRealVocabulary(t *testing.T) {
	c, cases := realExcerpt(t)
	tok, err := bpe.New(c)
	require.NoError(t, err)
	assert.Zero(t, tok.Restored())
	checkGolden(t, tok, "tokenizer_real.json")
	for _, c := range cases {
		assert.Equal(t, c.Special, nonNil(tok.EncodeSpecial(c.Text)), "%q", c.Text)
		assert.Equal(t, c.Plain, nonNil(tok.Encode(c.Text)), "%q", c.Text)
	}
}

// TestMergesDroppedAsComments: files exist whose converter took the merges that
// start with '#' for comments.
func TestMergesDroppedAsComments(t *testing.T) {
	c, _ := realExcerpt(t)
	before := len(c.Merges)
	c.Merges = slices.DeleteFunc(c.Merges, func(m string) bool { return strings.HasPrefix(m, "#") })
	dropped := before - len(c.Merges)
	require.Positive(t, dropped)
	tok, err := bpe.New(c)
	require.NoError(t, err)
	assert.Equal(t, dropped, tok.Restored())
	checkGolden(t, tok, "tokenizer_real.json")
}

// excerptCase is a text with its ids, literals of special tokens parsed or not.
type excerptCase struct {
	Text           string
	Special, Plain []int32
}

// realExcerpt reads testdata/excerpt.json, which testdata/make_excerpt.py made.
func realExcerpt(t *testing.T) (bpe.Config, []excerptCase) {
	var x struct {
		Size            int
		Tokens, Special [][2]any
		Merges          []string
		Cases           []excerptCase
	}
	readJSON(t, "testdata/excerpt.json", &x)
	require.Greater(t, len(x.Cases), 400)
	c := newConfig(x.Size)
	c.Merges = x.Merges
	for _, p := range x.Tokens {
		set(c, int32(p[0].(float64)), p[1].(string), bpe.Normal)
	}
	for _, p := range x.Special {
		set(c, int32(p[0].(float64)), p[1].(string), bpe.Control)
	}
	return c, x.Cases
}

// TestWholeRealVocabulary runs on a tokenizer.json of Qwen2 or Qwen3, if the
// environment names one: the project does not carry it (11 MB).
func TestWholeRealVocabulary(t *testing.T) {
	file := os.Getenv("QWEN_TOKENIZER_JSON")
	if file == "" {
		t.Skip("set QWEN_TOKENIZER_JSON to a Qwen3 tokenizer.json to test the whole vocabulary")
	}
	var x struct {
		Model struct {
			Vocab  map[string]int32
			Merges []json.RawMessage
		}
	}
	readJSON(t, file, &x)
	part, cases := realExcerpt(t)
	c := newConfig(len(part.Tokens))
	for token, id := range x.Model.Vocab {
		set(c, id, token, bpe.Normal)
	}
	for id, typ := range part.TokenTypes {
		if typ == bpe.Control {
			set(c, int32(id), part.Tokens[id], typ)
		}
	}
	for _, raw := range x.Model.Merges {
		c.Merges = append(c.Merges, mergeText(t, raw))
	}
	tok, err := bpe.New(c)
	require.NoError(t, err)
	assert.Zero(t, tok.Restored())
	checkGolden(t, tok, "tokenizer_real.json")
	for _, c := range cases {
		assert.Equal(t, c.Special, nonNil(tok.EncodeSpecial(c.Text)), "%q", c.Text)
		assert.Equal(t, c.Plain, nonNil(tok.Encode(c.Text)), "%q", c.Text)
	}

	c.Merges = slices.DeleteFunc(c.Merges, func(m string) bool { return strings.HasPrefix(m, "#") })
	tok, err = bpe.New(c)
	require.NoError(t, err)
	assert.Equal(t, 96, tok.Restored())
	checkGolden(t, tok, "tokenizer_real.json")
}

// mergeText reads a merge as older ("a b") and newer (["a","b"]) files write it.
func mergeText(t *testing.T, raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var p [2]string
	require.NoError(t, json.Unmarshal(raw, &p))
	return p[0] + " " + p[1]
}
