// Package text cuts long texts into pieces that are comfortable to speak.
//
// A piece ends where a sentence does. Sentences are found by rules for the languages of Qwen3-TTS and by those of Unicode
// for the others; never inside a number, an abbreviation, a name's initials, an ellipsis, a URL or a grapheme cluster
// (UAX #29). Where there is a doubt, no sentence ends: two sentences in one piece do no harm, half a one in each of two
// does. A sentence that is too long is cut between clauses, else phrases, else words, else grapheme clusters.
package text

import "unicode"

// Boundary tells what a piece ends with, from worst to best.
type Boundary uint8

const (
	_         Boundary = iota // no place to cut
	Grapheme                  // anywhere else between grapheme clusters (UAX #29)
	Glue                      // between words that belong together: "Dr." and a name, "1" and "000"
	Word                      // between words; in Chinese and Japanese between characters where a line may break (UAX #14)
	Phrase                    // a comma or a dash
	Clause                    // a semicolon, a colon, a line's end; what may be a sentence's end and may not
	Sentence                  // a sentence's end
	Paragraph                 // an empty line
	End                       // of the text
)

var boundaryNames = [...]string{"none", "grapheme", "glue", "word", "phrase", "clause", "sentence", "paragraph", "end"}

func (b Boundary) String() string { return boundaryNames[min(int(b), len(boundaryNames)-1)] }

// Piece is a part of a text, without white space around it. Between two pieces there is white space or nothing.
type Piece struct {
	Text  string
	Start int      // byte offset in the whole
	Ends  Boundary // what it ends with
}

// Options say how to cut. The zero value is useful.
type Options struct {
	// Language is the English name of a language, such as "german", in lower case; another or "" means that it is not
	// known, so that whatever is an abbreviation in any language is taken for one.
	Language string
	// MaxCharacters is the most code points of a piece. 0 limits what a piece takes to speak instead: DefaultFrames.
	// A grapheme cluster that is longer still is a piece.
	MaxCharacters int
}

// DefaultFrames is what a piece takes to speak at most, as Frames estimates it: 25 seconds, some 340 letters or 110
// Chinese characters. Models were trained with utterances of that length, and start to drift in much longer ones.
const DefaultFrames = 320

// framesPerSecond of the 12 Hz speech tokenizer.
const framesPerSecond = 12.5

// Frames estimates how many frames of audio, 12.5 a second, a text becomes when spoken: some 14 letters a second in
// alphabets, 4.5 characters a second in Chinese, Japanese and Korean writing, digits as words.
func Frames(s string) int {
	frames := 6.0 // before and after
	for _, r := range s {
		frames += runeFrames(r)
	}
	return int(frames)
}

func runeFrames(r rune) float64 {
	switch {
	case r >= '0' && r <= '9':
		return 3
	case r < 0x1100:
		return framesPerSecond / 14
	case isIdeographic(r) || unicode.Is(unicode.Hangul, r):
		return framesPerSecond / 4.5
	}
	return framesPerSecond / 14
}

// isIdeographic tells whether a letter is of a script that has no spaces between words: Chinese characters and kana.
func isIdeographic(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー'
}
