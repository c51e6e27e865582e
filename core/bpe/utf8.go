package bpe

import (
	"fmt"
	"unicode/utf8"
)

// ValidateUTF8 returns an error that gives the byte offset and the value of the
// first byte of text that is not part of valid UTF-8, nil if there is none.
func ValidateUTF8(text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
			return fmt.Errorf("invalid UTF-8 at byte %d (0x%02x)", i, text[i])
		}
	}
	return nil
}
