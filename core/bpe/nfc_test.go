package bpe

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

// TestComposeMarksEqualsNorm: where runs of marks are short, norm is right and
// composeMarks must agree with it.
func TestComposeMarksEqualsNorm(t *testing.T) {
	chars := []rune("eaoEAﬁÅΩか가각힣क़각\u0301\u0300\u0302\u0323\u0327\u0345\u3099\u0344\u1e9b\u05b7\u05bc\u093c\u0f71\u0f72\u0f73漢兀x\n")
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		text := make([]rune, 1+r.IntN(8))
		for i := range text {
			text[i] = chars[r.IntN(len(chars))]
		}
		require.Equal(t, norm.NFC.String(string(text)), composeMarks(string(text)), "%+q", string(text))
	}
}

func TestNFC(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"plain":                                  "plain",
		"e\u0301":                                "é",
		"\u212b":                                 "Å",
		"\ufb01":                                 "\ufb01", // canonical forms only: ligatures stay
		"\xff\u0301":                             "\xff\u0301",
		"e" + strings.Repeat("\u0301", 60):       "é" + strings.Repeat("\u0301", 59),
		"e" + strings.Repeat("\u0301\u0323", 50): "ẹ" + strings.Repeat("\u0323", 49) + strings.Repeat("\u0301", 50),
		"\xff e" + strings.Repeat("\u0301", 7) + "\xff\u212b ": "\xff é" + strings.Repeat("\u0301", 6) + "\xffÅ ",
	} {
		assert.Equal(t, want, nfc(text), "%+q", text)
	}
}
