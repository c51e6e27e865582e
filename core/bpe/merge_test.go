package bpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// byteTokens returns the 256 single-byte tokens, token b for byte b.
func byteTokens() []string {
	tokens := make([]string, 256)
	for b, r := range byteRune {
		tokens[b] = string(r)
	}
	return tokens
}

// randomTokenizer has n merges over the letters a to d, each of two tokens drawn
// from those before it. As training would, it merges only what the merges before
// leave apart.
func randomTokenizer(t *testing.T, r *rand.Rand, n int) (*Tokenizer, Config) {
	c := Config{Tokens: byteTokens()}
	parts := []string{"a", "b", "c", "d"}
	for len(c.Merges) < n {
		left, right := parts[r.IntN(len(parts))], parts[r.IntN(len(parts))]
		if len(left+right) > 8 || !slices.Equal(mergeSlowly(c, left+right), []string{left, right}) {
			continue
		}
		c.Merges = append(c.Merges, left+" "+right)
		c.Tokens = append(c.Tokens, left+right)
		parts = append(parts, left+right)
	}
	tok, err := New(c)
	require.NoError(t, err)
	require.Zero(t, tok.Restored())
	return tok, c
}

// mergeSlowly is the definition of BPE: as long as any two neighbours have a
// merge, apply the first one of the lowest rank.
func mergeSlowly(c Config, word string) []string {
	parts := strings.Split(word, "")
	for {
		best, at := len(c.Merges), -1
		for i := range len(parts) - 1 {
			if rank := slices.Index(c.Merges, parts[i]+" "+parts[i+1]); rank >= 0 && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return parts
		}
		parts = slices.Replace(parts, at, at+2, parts[at]+parts[at+1])
	}
}

func TestMergeEqualsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		tok, c := randomTokenizer(t, r, 40)
		for range 40 {
			word := make([]byte, 1+r.IntN(40))
			for i := range word {
				word[i] = "abcd"[r.IntN(4)]
			}
			var got []string
			for _, id := range tok.Encode(string(word)) {
				got = append(got, c.Tokens[id])
			}
			require.Equal(t, mergeSlowly(c, string(word)), got, "%s with %v", word, c.Merges)
		}
	}
}

// TestMergeOrderWithoutIDs: ranks are the places in the list where tokens are not
// numbered in the order of their merges.
func TestMergeOrderWithoutIDs(t *testing.T) {
	c := Config{Tokens: append(byteTokens(), "bc", "ab", "abc"), Merges: []string{"a b", "b c"}}
	tok, err := New(c)
	require.NoError(t, err)
	assert.Equal(t, []int32{257, 'c'}, tok.Encode("abc"))
	assert.Zero(t, tok.Restored()) // "abc" is no merge's result, but its rank is not known
}

func TestRestore(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 30 {
		full, c := randomTokenizer(t, r, 60)
		c.Merges = slices.DeleteFunc(c.Merges, func(string) bool { return r.IntN(4) == 0 })
		tok, err := New(c)
		require.NoError(t, err)
		assert.Equal(t, 60-len(c.Merges), tok.Restored())
		assert.Equal(t, full.ranks, tok.ranks)
	}
}

func TestRestoreLeavesOtherTokensAlone(t *testing.T) {
	c := Config{
		Tokens:     append(byteTokens(), "##", "<x>", "[PAD]", "a b", "###"),
		TokenTypes: append(slices.Repeat([]int32{Normal}, 257), Control, Unused, Normal, Normal),
	}
	tok, err := New(c)
	require.NoError(t, err)
	assert.Equal(t, 2, tok.Restored())
	assert.Equal(t, []int32{260}, tok.Encode("###"))
	assert.Len(t, tok.Encode("<x>"), 3)
	assert.Len(t, tok.Encode("[PAD]"), 5)
}

// TestLongWords: a word of a megabyte is no harder than many short ones. With an
// algorithm that is quadratic in the word's length this test would not end.
func TestLongWords(t *testing.T) {
	tok, err := New(Config{Tokens: append(byteTokens(), "aa", "aaaa", "ab"), Merges: []string{"a a", "aa aa", "a b"}})
	require.NoError(t, err)
	const n = 1 << 20
	assert.Len(t, tok.Encode(strings.Repeat("a", n)), n/4)
	assert.Len(t, tok.Encode(strings.Repeat("ab", n/2)), n/2)
	assert.Len(t, tok.Encode(strings.Repeat(" ", n)), n)
	assert.Len(t, tok.Encode(strings.Repeat("e\u0301", n/4)), n/2) // é is two bytes
	assert.Len(t, tok.Encode(strings.Repeat("\u0301", n/2)), n)
}
