package bpe

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

func TestByteAlphabet(t *testing.T) {
	seen := map[rune]bool{}
	for b, r := range byteRune {
		assert.False(t, seen[r])
		seen[r] = true
		got, ok := spelling(nil, string(r))
		assert.True(t, ok)
		assert.Equal(t, []byte{byte(b)}, got)
	}
	assert.Equal(t, 'Ġ', byteRune[' '])
	assert.Equal(t, 'Ċ', byteRune['\n'])
	assert.Equal(t, 'Ń', byteRune[0xad])
	assert.Equal(t, 'ä', byteRune[0xe4])
	_, ok := spelling(nil, "a b")
	assert.False(t, ok)
}

func TestValidateUTF8(t *testing.T) {
	for _, good := range []string{"", "a", "é\ufffd字😀", "\x00"} {
		assert.NoError(t, ValidateUTF8(good), "%q", good)
	}
	for bad, want := range map[string]string{
		"\xff\xfe\xc0":   "invalid UTF-8 at byte 0 (0xff)",
		"ab\xc3":         "invalid UTF-8 at byte 2 (0xc3)",
		"字\ufffd\x80":    "invalid UTF-8 at byte 6 (0x80)",
		"é\xed\xa0\x80":  "invalid UTF-8 at byte 2 (0xed)", // a surrogate
		"\xc0\xaf":       "invalid UTF-8 at byte 0 (0xc0)", // overlong
		"a\xf4\x90\x80x": "invalid UTF-8 at byte 1 (0xf4)", // beyond U+10FFFF
	} {
		assert.EqualError(t, ValidateUTF8(bad), want, "%q", bad)
	}
}

func TestNewRefuses(t *testing.T) {
	types := func(more ...int32) []int32 { return append(slices.Repeat([]int32{Normal}, 256), more...) }
	tokens := func(more ...string) []string { return append(byteTokens(), more...) }
	for _, test := range []struct {
		want string
		c    Config
	}{
		{`tokens: none`, Config{}},
		{`tokens: none for byte 0x61 ('a')`, Config{Tokens: slices.Delete(tokens(), 'a', 'a'+1)}},
		{`tokens: none for byte 0x61 ('a')`, Config{Tokens: tokens(), TokenTypes: slices.Replace(types(), 'a', 'a'+1, Control)}},
		{`token_type: 2 entries for 256 tokens`, Config{Tokens: tokens(), TokenTypes: []int32{1, 1}}},
		{`token_type 256: 7 is not a type`, Config{Tokens: tokens("ab"), TokenTypes: types(7)}},
		{`token_type 256: 0 is not a type`, Config{Tokens: tokens("ab"), TokenTypes: types(0)}},
		{`token 256: empty`, Config{Tokens: tokens("")}},
		{`tokens 256 and 257: both are "ab"`, Config{Tokens: tokens("ab", "ab")}},
		{`merge 1 "ab": want two tokens with a space between`, Config{Tokens: tokens("ab"), Merges: []string{"a b", "ab"}}},
		{`merge 0 " b": want two tokens with a space between`, Config{Tokens: tokens(), Merges: []string{" b"}}},
		{`merge 0 "a ": want two tokens with a space between`, Config{Tokens: tokens(), Merges: []string{"a "}}},
		{`merge 0 "a b c": want two tokens with a space between`, Config{Tokens: tokens(), Merges: []string{"a b c"}}},
		{`merge 0 "xy b": "xy" is not in the vocabulary`, Config{Tokens: tokens(), Merges: []string{"xy b"}}},
		{`merge 0 "a xy": "xy" is not in the vocabulary`, Config{Tokens: tokens(), Merges: []string{"a xy"}}},
		{`merge 0 "a b": its result is not in the vocabulary`, Config{Tokens: tokens(), Merges: []string{"a b"}}},
		{`merge 0 "a b": its result is not in the vocabulary`, Config{Tokens: tokens("ab"), TokenTypes: types(Unused), Merges: []string{"a b"}}},
		{`merge 1 "a b": listed twice`, Config{Tokens: tokens("ab"), Merges: []string{"a b", "a b"}}},
	} {
		_, err := New(test.c)
		assert.EqualError(t, err, "tokenizer: "+test.want)
	}
}

// specialTokenizer has two special tokens, one the beginning of the other.
func specialTokenizer(t testing.TB) *Tokenizer {
	c := Config{Tokens: append(byteTokens(), "<end>", "<end>x", "é>", "ee")}
	c.TokenTypes = append(slices.Repeat([]int32{Normal}, 256), Control, UserDefined, Control, Normal)
	c.Merges = []string{"e e"}
	tok, err := New(c)
	require.NoError(t, err)
	return tok
}

func TestSpecialTokens(t *testing.T) {
	tok := specialTokenizer(t)
	assert.Equal(t, 260, tok.Len())
	id, ok := tok.Special("<end>x")
	assert.True(t, ok)
	assert.EqualValues(t, 257, id)
	_, ok = tok.Special("ee")
	assert.False(t, ok)

	assert.Equal(t, []int32{256, 259, 257, 256}, tok.EncodeSpecial("<end>ee<end>x<end>")) // the longest counts
	assert.Equal(t, []int32{'<', 256}, tok.EncodeSpecial("<<end>"))
	assert.Equal(t, []int32{258}, tok.EncodeSpecial("é>"))
	assert.NotContains(t, tok.EncodeSpecial("e\u0301>"), int32(258), "literals are sought before normalisation")
	assert.Equal(t, []int32{'<', 'e', 'n', 'd', '>'}, tok.Encode("<end>"))
	assert.Empty(t, tok.Encode(""))
	assert.Empty(t, tok.EncodeSpecial(""))
	assert.Equal(t, "ee<end>x<", tok.Decode([]int32{259, 257, '<', -1, 260}))
}

func TestConcurrentUse(t *testing.T) {
	tok := specialTokenizer(t)
	want := tok.Encode("see the bee's knees")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				assert.Equal(t, want, tok.Encode("see the bee's knees"))
			}
		})
	}
	wg.Wait()
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "ee eee\n\n", "e\u0301", "\xff\xfe", "<end>xee", strings.Repeat("\u0301", 40), "가\u1161\u11a8"} {
		f.Add(s)
	}
	tok := specialTokenizer(f)
	f.Fuzz(func(t *testing.T, text string) {
		plain := tok.Encode(text)
		want := norm.NFC.String(text)
		if hasLongRun(text) {
			want = nfc(text)
		}
		require.Equal(t, want, tok.Decode(plain))
		special := tok.EncodeSpecial(text)
		if utf8.ValidString(text) && norm.NFC.IsNormalString(text) {
			require.Equal(t, text, tok.Decode(special))
		}
	})
}

// FuzzNew: no list of tokens, types and merges does worse than an error.
func FuzzNew(f *testing.F) {
	f.Add("ab abc <x>", "a b\nab c", []byte{1, 1, 3}, "xabc<x>")
	f.Add("## Ġ# \xff", "", []byte{1, 5, 6}, "## #")
	f.Add("ab bc abc", "b c\na b\na bc", []byte(nil), "abcab")
	f.Fuzz(func(t *testing.T, tokens, merges string, types []byte, text string) {
		c := Config{Tokens: append(byteTokens(), strings.Split(tokens, " ")...), TokenTypes: slices.Repeat([]int32{Normal}, 256)}
		for _, typ := range types {
			c.TokenTypes = append(c.TokenTypes, int32(typ))
		}
		if merges != "" {
			c.Merges = strings.Split(merges, "\n")
		}
		tok, err := New(c)
		if err != nil {
			return
		}
		require.Equal(t, nfc(text), tok.Decode(tok.Encode(text)))
		tok.EncodeSpecial(text)
	})
}
