package text

import (
	"unicode"

	"github.com/rivo/uniseg"
)

// scan is a text with the places where it may be cut.
type scan struct {
	text    string
	runes   []rune
	offsets []int      // of each rune, and the length of the text
	breaks  []Boundary // what lies before each rune; 0 if the text is not to be cut there
	rules   rules
	kana    bool // Japanese: it has kana
}

func newScan(s, language string) *scan {
	t := &scan{text: s, rules: rulesOf(language)}
	for i, r := range s {
		t.runes = append(t.runes, r)
		t.offsets = append(t.offsets, i)
		t.kana = t.kana || unicode.In(r, unicode.Hiragana, unicode.Katakana)
	}
	t.offsets = append(t.offsets, len(s))
	t.breaks = make([]Boundary, len(t.runes))
	t.markClusters()
	t.markSpaces()
	for i := 0; i < len(t.runes); {
		i = t.markPunctuation(i)
	}
	t.markAddresses()
	return t
}

// mark raises what lies before a rune, unless a grapheme cluster goes on there.
func (t *scan) mark(at int, b Boundary) {
	if at > 0 && at < len(t.runes) && t.breaks[at] > 0 {
		t.breaks[at] = max(t.breaks[at], b)
	}
}

// lower lowers what lies before a rune.
func (t *scan) lower(at int, b Boundary) {
	if at < len(t.runes) {
		t.breaks[at] = min(t.breaks[at], b)
	}
}

// markClusters marks grapheme clusters, and words of scripts without spaces.
func (t *scan) markClusters() {
	rest, state := t.text, -1
	var cluster string
	for at := 0; rest != ""; {
		var flags int
		cluster, rest, flags, state = uniseg.StepString(rest, state)
		for range cluster {
			at++
		}
		if at == len(t.runes) {
			return
		}
		t.breaks[at] = Grapheme
		if flags&uniseg.MaskLine != uniseg.LineDontBreak && t.betweenIdeographs(at) {
			t.breaks[at] = Word
		}
	}
}

// betweenIdeographs tells whether a word may end before a rune of a script without spaces. In Japanese words begin with
// a Chinese character or katakana after hiragana; elsewhere each character may be one. Numbers stay together, and with
// what they count.
func (t *scan) betweenIdeographs(at int) bool {
	a, b := t.runes[at-1], t.runes[at]
	switch {
	case isSpace(a) || isSpace(b), !isIdeographic(a) && !isIdeographic(b) && !isWide(a):
		return false
	case isNumeral(a) && (isNumeral(b) || isIdeographic(b)):
		return false
	case t.kana && isIdeographic(a) && isIdeographic(b):
		return unicode.Is(unicode.Hiragana, a) && !unicode.Is(unicode.Hiragana, b)
	}
	return true
}

// isWide tells whether a rune is of the punctuation or full-width forms of East Asia.
func isWide(r rune) bool { return r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff65 }

// isNumeral tells whether a rune is a digit, or one of those in Chinese numbers.
func isNumeral(r rune) bool {
	if unicode.IsDigit(r) {
		return true
	}
	switch r {
	case '〇', '零', '一', '二', '三', '四', '五', '六', '七', '八', '九', '十', '百', '千', '万', '萬', '亿', '億', '兆', '两', '兩':
		return true
	}
	return false
}

// markSpaces marks what follows white space: words, lines and paragraphs. Spaces that are there to hold together do not
// count, and neither do those inside numbers and before punctuation that belongs to what precedes.
func (t *scan) markSpaces() {
	for i := 0; i < len(t.runes); i++ {
		if !isSpace(t.runes[i]) {
			continue
		}
		end := t.skipSpace(i)
		if i > 0 && end < len(t.runes) {
			t.mark(end, t.spaceKind(i, end))
		}
		i = end
	}
}

// spaceKind tells what white space from i to end stands for.
func (t *scan) spaceKind(i, end int) Boundary {
	lines := t.lineBreaks(i, end)
	before, after := t.runes[i-1], t.runes[end]
	switch {
	case lines > 1:
		return Paragraph
	case t.holds(i, end):
		return Grapheme
	case lines == 1 && t.lineEnds(before, end):
		return Clause
	case unicode.IsDigit(before) && unicode.IsDigit(after):
		return Glue
	case closes(after) || opens(before):
		return Glue
	}
	return Word
}

// lineBreaks counts the ends of lines in white space; a form feed or paragraph separator counts twice.
func (t *scan) lineBreaks(i, end int) (n int) {
	for ; i < end; i++ {
		switch t.runes[i] {
		case '\n', '\v', 0x85, 0x2028:
			if t.runes[i] != '\n' || i == 0 || t.runes[i-1] != '\r' {
				n++
			}
		case '\r':
			n++
		case '\f', 0x2029:
			n += 2
		}
	}
	return n
}

// holds tells whether white space is but no-break spaces.
func (t *scan) holds(i, end int) bool {
	for ; i < end; i++ {
		if t.runes[i] != 0xa0 && t.runes[i] != 0x202f && t.runes[i] != 0x2007 {
			return false
		}
	}
	return true
}

// lineEnds tells whether a line was ended on purpose, rather than because it was full: it ends with punctuation, or the
// next begins with something else than a small letter.
func (t *scan) lineEnds(before rune, next int) bool {
	return unicode.IsPunct(before) && before != '-' || !unicode.IsLower(t.runes[next])
}

// closes tells whether punctuation belongs to what precedes it, even after a space.
func closes(r rune) bool {
	switch r {
	case '.', ',', ';', ':', '!', '?', '%', '…', '»', '›', '”', '’', '‰', '°', '€':
		return true
	}
	return unicode.Is(unicode.Pe, r)
}

// opens tells whether punctuation belongs to what follows it.
func opens(r rune) bool {
	switch r {
	case '¿', '¡', '$', '£', '#', '№', '§':
		return true
	}
	return unicode.In(r, unicode.Ps, unicode.Pi)
}

func isSpace(r rune) bool { return unicode.IsSpace(r) }

// skipSpace returns the first rune from i on that is no white space.
func (t *scan) skipSpace(i int) int {
	for i < len(t.runes) && isSpace(t.runes[i]) {
		i++
	}
	return i
}

// trim returns the end of what lies from one place to another, less the white space at its end.
func (t *scan) trim(from, to int) int {
	for to > from && isSpace(t.runes[to-1]) {
		to--
	}
	return to
}

// at returns a rune, 0 outside.
func (t *scan) at(i int) rune {
	if i < 0 || i >= len(t.runes) {
		return 0
	}
	return t.runes[i]
}
