package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func texts(pieces []Piece) (out []string) {
	for _, p := range pieces {
		out = append(out, p.Text)
	}
	return out
}

func ends(pieces []Piece) (out []Boundary) {
	for _, p := range pieces {
		out = append(out, p.Ends)
	}
	return out
}

// check wants of pieces what always holds.
func check(t testing.TB, s string, o Options, pieces []Piece) {
	at := 0
	for i, p := range pieces {
		require.GreaterOrEqual(t, p.Start, at)
		require.Equal(t, s[p.Start:p.Start+len(p.Text)], p.Text)
		require.Empty(t, strings.TrimSpace(s[at:p.Start]), "nothing but white space is left out")
		require.Equal(t, p.Text, strings.TrimSpace(p.Text))
		require.NotEmpty(t, p.Text)
		at = p.Start + len(p.Text)
		require.Equal(t, i == len(pieces)-1, p.Ends == End)
		if o.MaxCharacters > 0 && utf8.RuneCountInString(p.Text) > o.MaxCharacters {
			require.Equal(t, 1, uniseg.GraphemeClusterCount(p.Text), "%q is longer than %d", p.Text, o.MaxCharacters)
		}
		if o.MaxCharacters == 0 && Frames(p.Text) > DefaultFrames+7 {
			require.Equal(t, 1, uniseg.GraphemeClusterCount(p.Text))
		}
	}
	require.Empty(t, strings.TrimSpace(s[at:]))
	clusters := map[int]bool{}
	for g := uniseg.NewGraphemes(s); g.Next(); {
		from, _ := g.Positions()
		clusters[from] = true
	}
	for _, p := range pieces {
		before, _ := utf8.DecodeLastRuneInString(s[:p.Start]) // a mark may stand on white space, which is left out
		require.True(t, clusters[p.Start] || unicode.IsSpace(before), "%q begins inside a grapheme cluster", p.Text)
	}
}

func split(t testing.TB, s string, o Options) []Piece {
	pieces := Split(s, o)
	check(t, s, o, pieces)
	return pieces
}

func TestPacking(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		limit int
		want  []string
	}{
		"blank":                  {" \n\t\u3000", 10, nil},
		"empty":                  {"", 10, nil},
		"fits":                   {" One. Two. ", 10, []string{"One. Two."}},
		"whole sentences":        {"One two. Three four. Five six. Seven.", 20, []string{"One two. Three four.", "Five six. Seven."}},
		"a sentence by itself":   {"A short one. And one that is longer.", 24, []string{"A short one.", "And one that is longer."}},
		"the last two share":     {"Aaaa aaa. Bbbb bbb. Cccc ccc. Dd.", 31, []string{"Aaaa aaa. Bbbb bbb.", "Cccc ccc. Dd."}},
		"paragraph half full":    {"Aaaa aaa aaa.\n\nBbbb. Ccc ccc ccc ccc.", 21, []string{"Aaaa aaa aaa.", "Bbbb.", "Ccc ccc ccc ccc."}},
		"clauses before phrases": {"Er kam, sah; er siegte, sagt man, und ging", 24, []string{"Er kam, sah;", "er siegte, sagt man,", "und ging"}},
		"phrases before words":   {"one two, three four five six", 20, []string{"one two,", "three four five six"}},
		"words":                  {"one two three four", 9, []string{"one two", "three", "four"}},
		"letters":                {"aaaaaaaaaaaaaaaaaaaaaaaaa", 10, []string{"aaaaaaaaaa", "aaaaaaaaaa", "aaaaa"}},
		"numbers stay whole":     {"it costs 1 000 000,50 or so", 17, []string{"it costs", "1 000 000,50 or", "so"}},
		"names stay whole":       {"I saw that Dr. J. R. Smith went away", 21, []string{"I saw that", "Dr. J. R. Smith went", "away"}},
		"URLs stay whole":        {"see https://example.com/a?b=c,d for more", 28, []string{"see", "https://example.com/a?b=c,d", "for more"}},
		"no space before marks":  {"Vous venez demain ? Oui !", 13, []string{"Vous venez", "demain ?", "Oui !"}},
		"Chinese":                {"我们今天去公园，天气很好。然后回家。", 8, []string{"我们今天去公园，", "天气很好。", "然后回家。"}},
		"Chinese without marks":  {"我们今天去公园玩了三千五百个小时然后回家", 11, []string{"我们今天去公园玩了", "三千五百个小时然后回家"}},
		"Japanese words":         {"私は昨日東京で新しい車を買いました", 11, []string{"私は昨日東京で新しい", "車を買いました"}},
		"families":               {"👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 8, []string{"👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"}},
		"beyond any limit":       {"👨‍👩‍👧‍👦 a", 3, []string{"👨‍👩‍👧‍👦", "a"}},
		"Thai":                   {"สวัสดีครับ ผมชื่อ", 11, []string{"สวัสดีครับ", "ผมชื่อ"}},
		"no-break spaces":        {"ab cd\u00a0ef gh", 6, []string{"ab", "cd\u00a0ef", "gh"}},
		"wrapped lines":          {"one two three\nfour five; six seven eight", 30, []string{"one two three\nfour five;", "six seven eight"}},
		"lists":                  {"Buy\n- milk and eggs\n- bread and butter", 22, []string{"Buy\n- milk and eggs", "- bread and butter"}},
		"CRLF":                   {"One.\r\n\r\nTwo.\r\nThree.", 9, []string{"One.", "Two.", "Three."}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, texts(split(t, c.text, Options{MaxCharacters: c.limit})))
		})
	}
}

func TestEnds(t *testing.T) {
	assert.Equal(t, []Boundary{Paragraph, Sentence, Clause, Phrase, Word, End},
		ends(split(t, "Aaaa aaa aa.\n\nBbbb bbb bb. Cccc ccc cc; dddd ddd dd, eeee eee ee ffff fff fff", Options{MaxCharacters: 12})))
	assert.Equal(t, "sentence", Sentence.String())
	assert.Equal(t, "end", Boundary(99).String())
}

// TestDefaultLimit: what a piece takes to speak is what counts, in every script.
func TestDefaultLimit(t *testing.T) {
	for s, most := range map[string]int{"This is a sentence of some length. ": 360, "这是一个有点长的句子。": 130, "이것은 조금 긴 문장입니다. ": 180, "Number 123456789 is long. ": 240} {
		pieces := split(t, strings.Repeat(s, 200), Options{})
		longest := 0
		for _, p := range pieces {
			longest = max(longest, utf8.RuneCountInString(p.Text))
			if p.Ends != End {
				assert.Equal(t, Sentence, p.Ends)
			}
		}
		assert.LessOrEqual(t, longest, most, s)
		assert.Greater(t, longest, most/2, s)
		assert.Len(t, split(t, s, Options{}), 1)
	}
}

func TestFrames(t *testing.T) {
	assert.InDelta(t, 35, Frames("Good morning, how are you today?"), 3)
	assert.InDelta(t, 22, Frames("早上好，你好吗"), 6)
	assert.Greater(t, Frames("1990"), Frames("abcd"))
}

// TestLongMonotony: nothing takes time out of proportion, whatever is repeated.
func TestLongMonotony(t *testing.T) {
	for _, unit := range []string{"A b. ", "a", ".", "…", ",\"", "。", " ", "\n", "e\u0301\u0301", "(", "Dr. "} {
		split(t, strings.Repeat(unit, 100000/len(unit)), Options{})
	}
}

// TestRandomMixtures: nothing is lost, whatever stands beside what.
func TestRandomMixtures(t *testing.T) {
	parts := strings.Split("a|B|Dr.|J.|1|1.5|1,000|.|...|…|!|?|。|，|、|「|」|“|”|\"|«|»| | |\n|\n\n|\r\n|\u00a0|\u3000|你|三|の|カ|가|é|e\u0301|👨‍👩‍👧|🇩🇪|https://a.b/c?d|x@y.z|—|–|-|;|:|(|)|z.B.|\ufeff|\u200b|\xff|\x00|ก", "|")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var b strings.Builder
		for range rng.IntN(60) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		o := Options{MaxCharacters: rng.IntN(30), Language: []string{"", "german", "chinese"}[rng.IntN(3)]}
		split(t, b.String(), o)
	}
}

func TestEveryTextComesBack(t *testing.T) {
	for language, marked := range sentences {
		for _, s := range marked {
			for limit := range 40 {
				joined := strings.Join(texts(split(t, s, Options{Language: language, MaxCharacters: limit})), "")
				assert.Equal(t, noSpace(s), noSpace(joined))
			}
		}
	}
}

func noSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func FuzzSplit(f *testing.F) {
	for language, texts := range sentences {
		for i, s := range texts {
			f.Add(s, language, 5+10*i)
		}
	}
	f.Add("\xff\xfe. a\x00", "", 1)
	f.Add(" \u07ec", "", 52)
	f.Fuzz(func(t *testing.T, s, language string, limit int) {
		if len(s) > 1<<12 || !utf8.ValidString(s) {
			t.Skip()
		}
		o := Options{Language: language, MaxCharacters: max(limit, 0)}
		check(t, s, o, Split(s, o))
	})
}

func BenchmarkSplit(b *testing.B) {
	s := strings.Repeat("Dr. Smith paid $1.50 to Mrs. Jones, and left. 你好。", 2000)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Split(s, Options{})
	}
}

func ExampleSplit() {
	for _, p := range Split("Dr. No lives at No. 5. He is home.", Options{Language: "english", MaxCharacters: 25}) {
		fmt.Println(p.Text)
	}
	// Output:
	// Dr. No lives at No. 5.
	// He is home.
}
