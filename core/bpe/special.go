package bpe

import (
	"slices"
	"strings"
)

// specials finds special tokens in text.
type specials struct {
	ids     map[string]int32 // literal -> id
	lengths []int            // lengths of the literals, longest first
	first   string           // the bytes that literals start with
}

func (v *vocabulary) specials() specials {
	s := specials{ids: map[string]int32{}}
	for i, token := range v.tokens {
		if !v.special(int32(i)) {
			continue
		}
		s.ids[token] = int32(i)
		s.lengths = append(s.lengths, len(token))
		if strings.IndexByte(s.first, token[0]) < 0 {
			s.first += token[:1]
		}
	}
	slices.Sort(s.lengths)
	slices.Reverse(s.lengths)
	s.lengths = slices.Compact(s.lengths)
	return s
}

// find returns where the first special token of text is, its length and its id;
// len(text), 0 if there is none. Of several at one place the longest counts.
func (s *specials) find(text string) (at, n int, id int32) {
	for at := range len(text) {
		if strings.IndexByte(s.first, text[at]) < 0 {
			continue
		}
		for _, n := range s.lengths {
			if n > len(text)-at {
				continue
			}
			if id, ok := s.ids[text[at:at+n]]; ok {
				return at, n, id
			}
		}
	}
	return len(text), 0, 0
}
