package text

import (
	"strings"
	"unicode"
)

// markAddresses keeps URLs and addresses of mail in one piece.
func (t *scan) markAddresses() {
	for i := 0; i < len(t.runes); {
		if isSpace(t.runes[i]) || isIdeographic(t.runes[i]) || isWide(t.runes[i]) {
			i++
			continue
		}
		end := i
		for end < len(t.runes) && !isSpace(t.runes[end]) && !isIdeographic(t.runes[end]) && !isWide(t.runes[end]) {
			end++
		}
		if isAddress(string(t.runes[i:min(end, i+maxScheme)])) || t.isMail(i, end) {
			for at := i + 1; at < end; at++ {
				t.lower(at, Grapheme)
			}
		}
		i = end
	}
}

// maxScheme is how many runes of a word are looked at for a scheme: brackets and quotes may stand before it.
const maxScheme = 32

func isAddress(word string) bool {
	word = strings.ToLower(strings.TrimLeftFunc(word, unicode.IsPunct))
	return strings.Contains(word, "://") || strings.HasPrefix(word, "www.") || strings.HasPrefix(word, "mailto:")
}

// isMail tells whether a word has an @ between letters or digits.
func (t *scan) isMail(from, to int) bool {
	for i := from + 1; i < to-1; i++ {
		if t.runes[i] == '@' && isAlphanumeric(t.runes[i-1]) && isAlphanumeric(t.runes[i+1]) {
			return true
		}
	}
	return false
}

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
