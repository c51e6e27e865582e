package bpe

import "unicode/utf8"

// restore adds the merges that v implies and the file's list lacks. Training
// makes a token by one merge of two older tokens, and numbers tokens in the order
// in which it made them. So a token that no merge makes, yet whose bytes the
// merges of lower ids leave as exactly two tokens, was made by merging these
// two, and its id is that merge's rank.
func (t *Tokenizer) restore(v *vocabulary, merges []merge) {
	made := make([]bool, len(t.tokens))
	for _, m := range merges {
		made[m.result] = true
	}
	m := t.newMerger()
	var text []byte
	var parts []int32
	for i, token := range t.tokens {
		id := int32(i)
		if made[id] || v.typeOf(id) != Normal || utf8.RuneCountInString(token) < 2 {
			continue
		}
		var ok bool
		if text, ok = spelling(text[:0], token); !ok {
			continue
		}
		m.limit = id
		if parts = m.appendWord(parts[:0], string(text)); len(parts) == 2 {
			t.ranks[pairKey(parts[0], parts[1])] = id
			t.restored++
		}
	}
}
