package text

import (
	"strings"
	"unicode"
)

// markPunctuation looks at the punctuation at a place, marks what follows it, and returns where to go on.
func (t *scan) markPunctuation(i int) int {
	r := t.runes[i]
	switch {
	case isTerminator(r):
		return t.markTerminator(i)
	case r == ';' && unicode.Is(unicode.Greek, t.at(i-1)): // their question mark
		t.markAfter(i+1, Sentence)
	case r == ';', r == ':':
		t.markAfter(i+1, Clause)
	case r == ',':
		t.markAfter(i+1, Phrase)
	case strings.ContainsRune("；：؛", r):
		t.markDirect(i+1, Clause)
	case strings.ContainsRune("，、､،﹐﹑", r):
		t.markDirect(i+1, Phrase)
	case strings.ContainsRune("—―–", r):
		end := i + 1
		for t.at(end) == r {
			end++
		}
		if r != '–' || isSpace(t.at(end)) && isSpace(t.at(i-1)) { // 1990–2000, but not 1990 – 2000
			t.markDirect(end, Phrase)
		}
		return end
	}
	return i + 1
}

// markAfter marks what follows white space after punctuation; without white space it is none.
func (t *scan) markAfter(end int, b Boundary) {
	end = t.skipClosers(end, false)
	if isSpace(t.at(end)) && !t.holds(end, t.skipSpace(end)) {
		t.markDirect(end, b)
	}
}

// markDirect marks what follows punctuation, after white space or not, unless it stands inside a number.
func (t *scan) markDirect(end int, b Boundary) {
	next := t.skipSpace(end)
	if unicode.IsDigit(t.at(next)) && unicode.IsDigit(t.beforePunct(end)) {
		t.lower(next, Glue)
		return
	}
	if !closes(t.at(next)) {
		t.mark(next, b)
	}
}

// beforePunct is the last rune before punctuation that ends at end.
func (t *scan) beforePunct(end int) rune {
	for end--; end >= 0 && (unicode.IsPunct(t.runes[end]) || isSpace(t.runes[end])); {
		end--
	}
	return t.at(end)
}

// isTerminator tells whether a sentence may end with a rune.
func isTerminator(r rune) bool {
	if r < 0x80 {
		return r == '.' || r == '!' || r == '?'
	}
	return r == '…' || r == '‥' || unicode.Is(unicode.Sentence_Terminal, r)
}

// terminator is a run of punctuation that may end a sentence, with the quotes and brackets that it closes.
type terminator struct {
	start, stop, end int // where it begins, where the quotes do, and where all ends
	dot              bool
	ellipsis         bool
	wide             bool // of a script that has no space after it
}

// markTerminator judges a run of terminators.
func (t *scan) markTerminator(start int) int {
	e := t.readTerminator(start)
	next := t.skipSpace(e.end)
	if next == len(t.runes) {
		return next
	}
	if b := t.judge(e, next); b > Glue {
		t.mark(next, b)
	} else if b == Glue {
		t.lower(next, Glue)
	}
	return max(e.end, start+1)
}

func (t *scan) readTerminator(start int) terminator {
	e := terminator{start: start, stop: start}
	dots := 0
	for ; isTerminator(t.at(e.stop)) || t.spacedDot(e.stop); e.stop++ {
		switch r := t.runes[e.stop]; {
		case r == '.':
			dots++
		case r == '…' || r == '‥':
			e.ellipsis = true
		case r >= 0x80 && r != '‼' && r != '⁇' && r != '⁈' && r != '⁉':
			e.wide = true
		}
	}
	e.ellipsis = e.ellipsis || dots > 1
	e.dot = dots == 1 && e.stop == start+1
	e.end = t.skipClosers(e.stop, e.wide)
	return e
}

// spacedDot tells whether white space lies between two dots: ". . ."
func (t *scan) spacedDot(i int) bool {
	return t.at(i) == ' ' && t.at(i-1) == '.' && t.at(i+1) == '.'
}

// skipClosers returns the end of quotes and brackets that close. Chinese quotes begin with the sign that German ones end
// with: it closes, but not after the punctuation of a script without spaces.
func (t *scan) skipClosers(i int, wide bool) int {
	for {
		r := t.at(i)
		switch {
		case strings.ContainsRune("\"'*_`", r) && r != 0, unicode.In(r, unicode.Pe, unicode.Pf), unicode.Is(unicode.Pi, r) && !wide:
			i++
		case isSpace(r) && r != '\n' && t.at(i+1) == '»' && !unicode.IsLetter(t.at(i+2)): // as in French
			i += 2
		default:
			return i
		}
	}
}

// judge tells what a terminator ends, given what comes after it and white space. Glue means that it ends nothing, and
// belongs to what follows.
func (t *scan) judge(e terminator, next int) Boundary {
	kind := t.kindAfter(next)
	spaced := next > e.end
	switch {
	case isTerminator(t.runes[next]):
		return 0
	case spaced && t.lineBreaks(e.end, next) > 1:
		return Paragraph
	case spaced && t.holds(e.end, next):
		return Glue
	case !spaced:
		return t.judgeTight(e, next)
	case e.wide:
		return Sentence
	case e.ellipsis && kind != upper:
		return Clause
	case e.dot && !t.quotedBefore(e, next):
		return t.judgeDot(e.start, next, kind)
	case kind == small, t.quotedBefore(e, next):
		return Clause
	}
	return Sentence
}

// quotedBefore tells whether a quote ends before a letter that is neither large nor small: the sentence that quotes may
// go on.
func (t *scan) quotedBefore(e terminator, next int) bool {
	r := t.runes[next]
	return e.end > e.stop && unicode.IsLetter(r) && !unicode.IsUpper(r) && !unicode.IsTitle(r)
}

// judgeTight judges a terminator that no space follows: only scripts without spaces end sentences so.
func (t *scan) judgeTight(e terminator, next int) Boundary {
	before, after := t.at(e.start-1), t.runes[next]
	quoted := e.end > e.stop && unicode.IsLetter(after) // 「行こう。」と
	switch {
	case unicode.IsDigit(before) && unicode.IsDigit(after):
		return 0
	case e.ellipsis && !e.wide:
		if isIdeographic(after) || isIdeographic(before) && !unicode.IsLetter(after) {
			return Clause
		}
		return 0
	case e.wide && quoted:
		return Clause
	case e.wide:
		return Sentence
	case (isIdeographic(before) || isWide(before)) && (isIdeographic(after) || isWide(after)):
		return Sentence
	}
	return 0
}

// What the next word begins with.
type initial int

const (
	other initial = iota
	upper
	small
	digit
)

// kindAfter looks at what follows quotes, brackets and marks at a place.
func (t *scan) kindAfter(i int) initial {
	for i < len(t.runes) && (opens(t.runes[i]) || strings.ContainsRune("\"'*_`-—–", t.runes[i])) {
		if i++; strings.ContainsRune("-—–", t.runes[i-1]) {
			i = t.skipSpace(i)
		}
	}
	switch r := t.at(i); {
	case unicode.IsLower(r):
		return small
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return upper
	case unicode.IsDigit(r):
		return digit
	}
	return other
}

// judgeDot judges a single dot that white space follows.
func (t *scan) judgeDot(dot, next int, kind initial) Boundary {
	word, first := t.wordBefore(dot)
	switch t.rules.abbreviation(word) {
	case always:
		return Glue
	case beforeNumber:
		if kind == digit || isRoman(t.wordAt(next)) {
			return Glue
		}
	case perhapsLast:
		if kind == upper {
			return Clause
		}
		return Glue
	}
	switch {
	case isInitial(word), strings.Contains(word, ".") && shortParts(word):
		return Glue
	case allDigits(word) && (first || t.rules.ordinals && len(word) <= 2):
		return Glue // 1. First; 3. Oktober
	case isRoman(word) && (kind == small || t.rules.ordinals):
		return Glue // Ludwig XIV.
	case kind == small:
		return Clause
	}
	return Sentence
}

// wordBefore returns the word that a dot ends, with the dots inside, and whether it is the first of its line or sentence.
func (t *scan) wordBefore(dot int) (word string, first bool) {
	i := dot
	for i > 0 && dot-i < maxWord {
		if r := t.runes[i-1]; !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(".,:/-'’", r) {
			break
		}
		i--
	}
	first = i == 0 || i < dot && t.breaks[i] >= Sentence
	for start := i - 1; !first && (t.at(start) == ' ' || t.at(start) == '\t' || t.at(start) == '\n'); start-- {
		first = start == 0 || t.runes[start] == '\n'
	}
	return string(t.runes[i:dot]), first
}

// wordAt returns the letters at a place.
func (t *scan) wordAt(i int) string {
	end := i
	for end < len(t.runes) && end-i < maxWord && unicode.IsLetter(t.runes[end]) {
		end++
	}
	return string(t.runes[i:end])
}

// maxWord is the longest word that is looked at: no abbreviation is longer.
const maxWord = 24

// isInitial tells whether a word is one letter that has a large and a small form: "J" in "J. Smith". Compound initials
// have hyphens: "J.-P.".
func isInitial(word string) bool {
	letters := 0
	for _, r := range word {
		switch {
		case r == '.' || r == '-' || unicode.Is(unicode.M, r):
			letters = 0
		case unicode.IsUpper(r) || unicode.IsLower(r):
			if letters++; letters > 1 {
				return false
			}
		default:
			return false
		}
	}
	return word != ""
}

// shortParts tells whether dots divide a word into parts of at most three letters: "z.B", "EE.UU", "т.д".
func shortParts(word string) bool {
	for part := range strings.SplitSeq(word, ".") {
		n := 0
		for _, r := range part {
			if n++; n > 3 || !unicode.IsLetter(r) && r != '-' {
				return false
			}
		}
	}
	return true
}

func allDigits(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

// isRoman tells whether a word is a Roman number of two letters or more.
func isRoman(word string) bool {
	return len(word) > 1 && strings.Trim(word, "IVXLCDM") == ""
}
