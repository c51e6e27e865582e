package bpe

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pattern is the pre-tokenizer as tokenizer.json of Qwen2 and Qwen3 has it.
const pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

func splitAll(text string) []string {
	var words []string
	for text != "" {
		n := word(text)
		words = append(words, text[:n])
		text = text[n:]
	}
	return words
}

// splitByRegexp is what splitAll must do, by a backtracking regexp engine.
func splitByRegexp(t *testing.T, re *regexp2.Regexp, text string) []string {
	var words []string
	m, err := re.FindStringMatch(text)
	for ; m != nil; m, err = re.FindNextMatch(m) {
		require.NoError(t, err)
		words = append(words, m.String())
	}
	require.NoError(t, err)
	return words
}

// atoms are what the random texts are made of: each alternative's characters, and
// those at the borders between classes.
var atoms = strings.Split("a|B|é|ß|ø|字|の|한|й|ก|1|٣|½|²|①|'|’|'s|'RE|'Ll|'t|'|s|.|,|!|#|-|_|(|😀|\u0301|\u200d|\u00ad|\ufeff|\ufffd|\x00|\x7f|"+
	" |  | |\t|\v|\f|\u00a0|\u3000|\u2028|\u0085|\u200b|\x1c|\r|\n|\r\n|\n|ʹ|ͅ|ₐ|ⅷ|ªº|𝒳|𐒠", "|")

func randomText(r *rand.Rand, n int) string {
	var s strings.Builder
	for range n {
		s.WriteString(atoms[r.IntN(len(atoms))])
	}
	return s.String()
}

func TestSplitEqualsRegexp(t *testing.T) {
	re := regexp2.MustCompile(pattern, regexp2.None)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		text := randomText(r, 1+r.IntN(12))
		require.Equal(t, splitByRegexp(t, re, text), splitAll(text), "%q", text)
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"Hello world":      {"Hello", " world"},
		"a  b":             {"a", " ", " b"},
		"a   b":            {"a", "  ", " b"},
		"end   ":           {"end", "   "},
		"x \n\n y":         {"x", " \n\n", " y"},
		"\n\nx":            {"\n\n", "x"},
		"12.5":             {"1", "2", ".", "5"},
		"it's o'clock":     {"it", "'s", " o", "'clock"},
		"'sample":          {"'s", "ample"},
		"I'LL":             {"I", "'LL"},
		"it'ſ":             {"it", "'ſ"}, // folds to 's; the regexp library of the test above does not know
		"wait...\r\n\nyes": {"wait", "...\r\n\n", "yes"},
		" (x)":             {" (", "x", ")"},
		"\t-":              {"\t", "-"},
		"　你好":              {"　你好"},
		"\xff\xfea":        {"\xff\xfe", "a"}, // stray bytes are of class other
	} {
		assert.Equal(t, want, splitAll(text), "%q", text)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "Hello, world's  end\n\n", " \t\r\n x", "'S'T'LL", "a1½ ॥", "\xff'\xfe"} {
		f.Add(s)
	}
	re := regexp2.MustCompile(pattern, regexp2.None)
	f.Fuzz(func(t *testing.T, text string) {
		words := splitAll(text)
		require.Equal(t, text, strings.Join(words, ""))
		if utf8.ValidString(text) && !strings.Contains(text, "'ſ") {
			require.Equal(t, splitByRegexp(t, re, text), words)
		}
	})
}
