package audio

import (
	"fmt"
	"math"
	"unicode"
)

// paces are letters a second of speech at a usual pace, by script: 160 English words a minute are 13 letters a second,
// Mandarin has 4 to 5 syllables, each one character. Digits are spoken as words.
var paces = []struct {
	script    *unicode.RangeTable
	perSecond float64
}{
	{unicode.Han, 4.5},
	{unicode.Hiragana, 7},
	{unicode.Katakana, 7},
	{unicode.Hangul, 5},
	{unicode.Latin, 13},
	{unicode.Cyrillic, 12.5},
	{unicode.Greek, 12.5},
	{unicode.Arabic, 10}, // most vowels are not written
	{unicode.Hebrew, 9},
	{unicode.Thai, 11},
	{unicode.Devanagari, 10},
	{unicode.Nd, 2.5},
	{unicode.L, 11}, // any other
}

// A transcript is implausible if, spoken at a usual pace, it would take less than slowest or more than fastest times
// the clip's length, and more than slack seconds less or more.
const (
	slowest = 0.65
	fastest = 1.7
	slack   = 1.0
)

// Plausible judges whether text can be what is spoken in that many seconds of sound. It returns warnings: a reference
// whose transcript holds more or less than is spoken makes the model repeat, skip or babble.
func Plausible(text string, seconds float64) []string {
	letters, usual := speakingTime(text)
	if letters == 0 {
		return []string{"the transcript has no letter or digit: nothing of it can be spoken"}
	}
	if seconds <= 0 || math.Abs(usual-seconds) <= slack {
		return nil
	}
	verdict := ""
	switch ratio := usual / seconds; {
	case ratio < slowest:
		verdict = "it may lack a part of what is spoken, or be another text"
	case ratio > fastest:
		verdict = "it may hold more than is spoken, or be another text"
	default:
		return nil
	}
	pace := float64(letters) / usual
	return []string{fmt.Sprintf("the transcript has %d letters for %.1f s of sound, %.1f a second where %.0f to %.0f are usual: %s",
		letters, seconds, float64(letters)/seconds, pace*slowest, pace*fastest, verdict)}
}

// speakingTime counts letters and digits and the seconds they take at a usual pace.
func speakingTime(text string) (letters int, seconds float64) {
	for _, r := range text {
		for _, p := range paces {
			if unicode.Is(p.script, r) {
				letters++
				seconds += 1 / p.perSecond
				break
			}
		}
	}
	return letters, seconds
}
