package prompt

import (
	"strings"
	"unicode"

	"github.com/libqwen/libqwen/core/bpe"
)

const byteOrderMark = "\ufeff"

// CheckText tells whether text can be spoken, and returns it without a leading
// byte order mark. It is the one check for every way into the library: text that
// is not UTF-8, blank, or without any letter or digit gives an error that wraps
// [ErrText].
func CheckText(text string) (string, error) {
	return checkSpeakable(ErrText, text)
}

func checkSpeakable(field error, text string) (string, error) {
	text, err := checkUTF8(field, text)
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", &Error{field, "empty"}
	case IsBlank(text):
		return "", &Error{field, "blank: nothing but white space"}
	case !strings.ContainsFunc(text, speakable):
		return "", &Error{field, "nothing to speak: no letter or digit in it"}
	}
	return text, nil
}

func checkUTF8(field error, text string) (string, error) {
	if err := bpe.ValidateUTF8(text); err != nil {
		return "", &Error{field, err.Error()}
	}
	return strings.TrimPrefix(text, byteOrderMark), nil
}

// IsBlank tells whether text shows nothing: it is empty, or but white space, controls
// and invisible format characters such as U+200B. A blank instruction or transcript
// counts as none.
func IsBlank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf)
	})
}

func speakable(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0: // Hangul fillers: letters that show nothing
		return false
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}
