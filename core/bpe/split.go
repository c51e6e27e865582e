package bpe

import (
	"unicode"
	"unicode/utf8"
)

// The Qwen2 pre-tokenizer cuts text into words, which merges never cross:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)     contraction
//	[^\r\n\p{L}\p{N}]?\p{L}+         letters, with any one character before
//	\p{N}                            one digit
//	 ?[^\s\p{L}\p{N}]+[\r\n]*        punctuation, with a space before and newlines after
//	\s*[\r\n]+                       blanks up to the last newline
//	\s+(?!\S)                        blanks, but for the last one before a word
//	\s+
//
// The scanner below takes the alternatives in that order, without backtracking.

type class uint8

const (
	other   class = iota // punctuation, symbols, marks, controls, bytes that are not UTF-8
	letter               // \p{L}
	number               // \p{N}
	newline              // \r or \n
	blank                // the rest of \s
)

// decode returns the class and the length of the character at the start of s;
// other, 0 at the end.
func decode(s string) (class, int) {
	if s == "" {
		return other, 0
	}
	if b := s[0]; b < utf8.RuneSelf {
		return classASCII(b), 1
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsLetter(r):
		return letter, n
	case unicode.IsNumber(r):
		return number, n
	case unicode.IsSpace(r):
		return blank, n
	}
	return other, n
}

func classASCII(b byte) class {
	switch {
	case 'a' <= b|0x20 && b|0x20 <= 'z':
		return letter
	case '0' <= b && b <= '9':
		return number
	case b == '\r' || b == '\n':
		return newline
	case b == ' ' || b == '\t' || b == '\v' || b == '\f':
		return blank
	}
	return other
}

// span returns the length of the run of characters of class c at the start of s.
func span(s string, c class) int {
	i := 0
	for {
		k, n := decode(s[i:])
		if n == 0 || k != c {
			return i
		}
		i += n
	}
}

// word returns the length of the first word of s, which is not empty.
func word(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	c, n := decode(s)
	switch c {
	case letter:
		return span(s, letter)
	case number:
		return n
	case newline:
		return blanks(s)
	}
	if m := span(s[n:], letter); m > 0 {
		return n + m
	}
	if c == other {
		return punctuation(s)
	}
	if s[0] == ' ' {
		if k, m := decode(s[1:]); m > 0 && k == other {
			return 1 + punctuation(s[1:])
		}
	}
	return blanks(s)
}

// contraction returns the length of an English contraction's tail ('s, 't, 're,
// 've, 'm, 'll, 'd) at the start of s, in any case; 0 if there is none.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(s) > 2 && s[2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if len(s) > 2 && s[2]|0x20 == 'l' {
			return 3
		}
	}
	if len(s) > 2 && s[1:3] == "ſ" { // long s: the one other letter that folds to one of these
		return 3
	}
	return 0
}

// punctuation is [^\s\p{L}\p{N}]+[\r\n]*.
func punctuation(s string) int {
	n := span(s, other)
	return n + span(s[n:], newline)
}

// blanks returns the length of the word that white space at the start of s makes.
func blanks(s string) int {
	end, last, afterNewline := 0, 0, 0
	for {
		c, n := decode(s[end:])
		if n == 0 || c != blank && c != newline {
			break
		}
		last = end
		end += n
		if c == newline {
			afterNewline = end
		}
	}
	switch {
	case afterNewline > 0:
		return afterNewline
	case end == len(s) || last == 0:
		return end
	}
	return last
}
