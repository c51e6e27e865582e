// Package bpe is the Qwen2 byte-level byte-pair encoding: text to token ids and
// back, exactly as the reference tokenizer (Qwen2TokenizerFast) does it.
//
// Text is put into Unicode NFC, cut into words (split.go), and each word's bytes
// are merged pairwise, the merge of the lowest rank first (merge.go).
package bpe

import "fmt"

// Token types, as in the GGUF array tokenizer.ggml.token_type. Tokens of type
// Control and UserDefined are special: only [Tokenizer.EncodeSpecial] finds them
// in text. Unused entries pad the vocabulary and stand for nothing.
const (
	Normal      = 1
	Unknown     = 2
	Control     = 3
	UserDefined = 4
	Unused      = 5
	Byte        = 6
)

// Config is what a GGUF file says about its tokenizer. New keeps Tokens; it must
// not change afterwards.
type Config struct {
	Tokens     []string // tokenizer.ggml.tokens: a token's index is its id
	TokenTypes []int32  // tokenizer.ggml.token_type, one for each token; nil: all are normal
	Merges     []string // tokenizer.ggml.merges: "left right", the lowest rank first
}

// Tokenizer turns text into token ids. It is safe for concurrent use.
type Tokenizer struct {
	tokens   []string
	byteIDs  [256]int32       // the token of each single byte
	ranks    map[uint64]int32 // pairKey of two tokens -> rank of their merge
	results  []int32          // rank -> merged token; nil: a merge's rank is its token's id
	specials specials
	restored int
}

// New checks c and builds its tokenizer. Errors name the entry at fault: a token
// listed twice, a byte without a token, a merge whose parts or result are not in
// the vocabulary.
//
// Merges that the vocabulary implies but c.Merges lacks are restored, see
// [Tokenizer.Restored].
func New(c Config) (*Tokenizer, error) {
	v, err := newVocabulary(c)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	t := &Tokenizer{tokens: c.Tokens, specials: v.specials()}
	if t.byteIDs, err = v.bytes(); err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	merges, err := v.merges(c.Merges)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if err := t.setMerges(merges, c.Merges); err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if t.results == nil {
		t.restore(v, merges)
	}
	return t, nil
}

// setMerges fills ranks and results. Where tokens are numbered in the order of
// their merges, as training leaves them, the id of the token that a merge makes
// serves as its rank, which lets missing merges be put in their place.
func (t *Tokenizer) setMerges(merges []merge, text []string) error {
	byID := ascending(merges)
	t.ranks = make(map[uint64]int32, len(merges))
	if !byID {
		t.results = make([]int32, len(merges))
	}
	for i, m := range merges {
		rank := m.result
		if !byID {
			rank, t.results[i] = int32(i), m.result
		}
		key := pairKey(m.left, m.right)
		if _, twice := t.ranks[key]; twice {
			return fmt.Errorf("merge %d %q: listed twice", i, text[i])
		}
		t.ranks[key] = rank
	}
	return nil
}

func ascending(merges []merge) bool {
	for i := 1; i < len(merges); i++ {
		if merges[i].result <= merges[i-1].result {
			return false
		}
	}
	return true
}

// result returns the token that the merge of this rank makes.
func (t *Tokenizer) result(rank int32) int32 {
	if t.results == nil {
		return rank
	}
	return t.results[rank]
}

// Len returns the number of tokens, which is one more than the highest id.
func (t *Tokenizer) Len() int { return len(t.tokens) }

// Restored returns the number of merges that the file lacked and that New
// restored from the vocabulary. Some converters take the 96 merges that start
// with '#' for comments and drop them.
func (t *Tokenizer) Restored() int { return t.restored }

// Special returns the id of the special token with this literal, such as
// "<|im_start|>".
func (t *Tokenizer) Special(literal string) (int32, bool) {
	id, ok := t.specials.ids[literal]
	return id, ok
}

// Encode returns the token ids of text. All of it is plain text: literals of
// special tokens are spelt out, so that a user's text cannot end the turn it is
// spoken in. Bytes that are not UTF-8 are encoded one by one; callers who would
// rather refuse them use [ValidateUTF8].
func (t *Tokenizer) Encode(text string) []int32 {
	return t.appendPlain(nil, text)
}

// EncodeSpecial is Encode, except that literals of special tokens become these
// tokens, as in the reference tokenizer.
func (t *Tokenizer) EncodeSpecial(text string) []int32 {
	var ids []int32
	for text != "" {
		at, n, id := t.specials.find(text)
		ids = t.appendPlain(ids, text[:at])
		if n > 0 {
			ids = append(ids, id)
		}
		text = text[at+n:]
	}
	return ids
}

func (t *Tokenizer) appendPlain(ids []int32, text string) []int32 {
	m := t.newMerger()
	for text = nfc(text); text != ""; {
		n := word(text)
		ids = m.appendWord(ids, text[:n])
		text = text[n:]
	}
	return ids
}

// Decode returns the text that the tokens spell, special tokens as their
// literals. Ids outside the vocabulary are left out. A list cut within a
// character gives bytes that are not UTF-8.
func (t *Tokenizer) Decode(ids []int32) string {
	var text []byte
	for _, id := range ids {
		if id < 0 || int(id) >= len(t.tokens) {
			continue
		}
		token := t.tokens[id]
		spelt, ok := spelling(text, token)
		if _, special := t.specials.ids[token]; special || !ok {
			spelt = append(text, token...)
		}
		text = spelt
	}
	return string(text)
}
