package bpe

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// longRun is the number of combining marks in a row from which nfc leaves
// norm.NFC. norm keeps to Unicode's Stream-Safe Text Format: after 30 marks it
// inserts U+034F, which the reference tokenizer does not. A character decomposes
// to at most three marks, so fewer than eight in a row never reach 30.
const longRun = 8

// nfc returns text in Unicode Normalization Form C. Bytes that are not UTF-8
// stay as they are.
func nfc(text string) string {
	switch {
	case norm.NFC.IsNormalString(text):
		return text
	case hasLongRun(text) && utf8.ValidString(text):
		return composeMarks(text)
	}
	return norm.NFC.String(text)
}

func hasLongRun(text string) bool {
	run := 0
	for i, r := range text {
		if r < 0x300 || norm.NFD.PropertiesString(text[i:]).CCC() == 0 {
			run = 0
			continue
		}
		if run++; run >= longRun {
			return true
		}
	}
	return false
}

// mark is a character with its canonical combining class.
type mark struct {
	r   rune
	ccc uint8
}

// composeMarks is NFC as UAX #15 states it, for any number of marks: decompose,
// sort each run of marks by class, compose each with its starter unless blocked.
func composeMarks(text string) string {
	out := make([]mark, 0, len(text))
	starter := -1
	for _, m := range decompose(text) {
		if starter >= 0 && !blocked(out, starter, m) {
			if r, ok := pair(out[starter].r, m.r); ok {
				out[starter].r = r
				continue
			}
		}
		if m.ccc == 0 {
			starter = len(out)
		}
		out = append(out, m)
	}
	b := make([]byte, 0, len(text))
	for _, m := range out {
		b = utf8.AppendRune(b, m.r)
	}
	return string(b)
}

// blocked tells whether something between the starter and m, the next
// character, keeps the two from composing.
func blocked(out []mark, starter int, m mark) bool {
	last := len(out) - 1
	return last != starter && out[last].ccc >= m.ccc
}

func decompose(text string) []mark {
	marks := make([]mark, 0, len(text))
	for _, r := range text {
		for _, d := range norm.NFD.String(string(r)) {
			marks = append(marks, mark{d, norm.NFD.PropertiesString(string(d)).CCC()})
		}
	}
	for i := 0; i < len(marks); {
		j := i
		for j < len(marks) && marks[j].ccc != 0 {
			j++
		}
		slices.SortStableFunc(marks[i:j], func(a, b mark) int { return int(a.ccc) - int(b.ccc) })
		i = j + 1
	}
	return marks
}

// pair returns the primary composite of two characters, if there is one.
func pair(a, b rune) (rune, bool) {
	s := norm.NFC.String(string([]rune{a, b}))
	r, n := utf8.DecodeRuneInString(s)
	return r, n == len(s)
}
