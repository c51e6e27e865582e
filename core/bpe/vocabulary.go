package bpe

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// merge joins the tokens left and right into the token result.
type merge struct{ left, right, result int32 }

// vocabulary looks tokens up by their text while a Tokenizer is built.
type vocabulary struct {
	tokens []string
	types  []int32
	ids    map[string]int32
}

func newVocabulary(c Config) (*vocabulary, error) {
	if len(c.Tokens) == 0 {
		return nil, errors.New("tokens: none")
	}
	if len(c.Tokens) > math.MaxInt32 {
		return nil, fmt.Errorf("tokens: %d are more than ids can number", len(c.Tokens))
	}
	if c.TokenTypes != nil && len(c.TokenTypes) != len(c.Tokens) {
		return nil, fmt.Errorf("token_type: %d entries for %d tokens", len(c.TokenTypes), len(c.Tokens))
	}
	v := &vocabulary{tokens: c.Tokens, types: c.TokenTypes, ids: make(map[string]int32, len(c.Tokens))}
	for i, token := range c.Tokens {
		if err := v.add(int32(i), token); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *vocabulary) add(id int32, token string) error {
	switch typ := v.typeOf(id); {
	case typ == Unused:
		return nil
	case typ < Normal || typ > Byte:
		return fmt.Errorf("token_type %d: %d is not a type", id, typ)
	case token == "":
		return fmt.Errorf("token %d: empty", id)
	}
	if first, twice := v.ids[token]; twice {
		return fmt.Errorf("tokens %d and %d: both are %q", first, id, token)
	}
	v.ids[token] = id
	return nil
}

func (v *vocabulary) typeOf(id int32) int32 {
	if v.types == nil {
		return Normal
	}
	return v.types[id]
}

func (v *vocabulary) special(id int32) bool {
	typ := v.typeOf(id)
	return typ == Control || typ == UserDefined
}

// bytes returns the tokens of the 256 single bytes.
func (v *vocabulary) bytes() (ids [256]int32, err error) {
	for b, r := range byteRune {
		id, ok := v.ids[string(r)]
		if !ok || v.special(id) {
			return ids, fmt.Errorf("tokens: none for byte 0x%02x (%q)", b, r)
		}
		ids[b] = id
	}
	return ids, nil
}

// merges looks up the tokens of merges, each given as "left right".
func (v *vocabulary) merges(text []string) ([]merge, error) {
	list := make([]merge, len(text))
	var joined []byte
	for i, s := range text {
		left, right, ok := strings.Cut(s, " ")
		if !ok || left == "" || right == "" || strings.Contains(right, " ") {
			return nil, fmt.Errorf("merge %d %q: want two tokens with a space between", i, s)
		}
		m := &list[i]
		if m.left, ok = v.ids[left]; !ok {
			return nil, fmt.Errorf("merge %d %q: %q is not in the vocabulary", i, s, left)
		}
		if m.right, ok = v.ids[right]; !ok {
			return nil, fmt.Errorf("merge %d %q: %q is not in the vocabulary", i, s, right)
		}
		if m.result = int32(len(byteRune) + i); v.reads(m.result, left, right) {
			continue // vocabularies list the results in the order of the merges: a search less
		}
		joined = append(append(joined[:0], left...), right...)
		if m.result, ok = v.ids[string(joined)]; !ok {
			return nil, fmt.Errorf("merge %d %q: its result is not in the vocabulary", i, s)
		}
	}
	return list, nil
}

// reads tells whether token id exists and is left followed by right.
func (v *vocabulary) reads(id int32, left, right string) bool {
	if int(id) >= len(v.tokens) || v.typeOf(id) == Unused {
		return false
	}
	rest, ok := strings.CutPrefix(v.tokens[id], left)
	return ok && rest == right
}
