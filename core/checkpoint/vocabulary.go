package checkpoint

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Token types of tokenizer.ggml.token_type.
const (
	tokenNormal = 1
	tokenAdded  = 4 // matched as a whole, never by merges
	tokenUnused = 5
)

// vocabulary is the byte-level BPE tokenizer of a talker checkpoint. Tokens and merges are written in the printable
// alphabet in which each byte is one rune.
type vocabulary struct {
	tokens []string // by id
	types  []int32
	merges []string // "left right", by rank
	eos    int      // the id of endOfText
}

// endOfText is the token that ends a text. It is not eos_token of tokenizer_config.json, which ends a turn of a chat.
const endOfText = "<|endoftext|>"

// readVocabulary reads vocab.json, the added tokens of tokenizer_config.json, and merges.txt. Ids must be below limit,
// the number of rows of the embedding.
func readVocabulary(dir string, limit int) (*vocabulary, error) {
	ids, err := readTokens(dir, limit)
	if err != nil {
		return nil, err
	}
	added, err := readAdded(dir, limit)
	if err != nil {
		return nil, err
	}
	v := &vocabulary{}
	if err := v.place("vocab.json", ids, tokenNormal); err != nil {
		return nil, err
	}
	if err := v.place("tokenizer_config.json", added, tokenAdded); err != nil {
		return nil, err
	}
	v.fillGaps()
	if v.merges, err = readMerges(dir, ids); err != nil {
		return nil, err
	}
	var ok bool
	if v.eos, ok = added[endOfText]; !ok {
		return nil, inputf("tokenizer_config.json: added_tokens_decoder: no token is %s", endOfText)
	}
	return v, nil
}

// readTokens reads vocab.json, a map from tokens to ids.
func readTokens(dir string, limit int) (map[string]int, error) {
	const file = "vocab.json"
	data, err := readSmall(dir, file)
	if err != nil {
		return nil, err
	}
	var ids map[string]int
	if err := json.Unmarshal(data, &ids); err != nil {
		return nil, inputf("%s: %w", file, jsonError(err))
	}
	if len(ids) == 0 {
		return nil, inputf("%s: no tokens", file)
	}
	for token, id := range ids {
		if id < 0 || id >= limit {
			return nil, inputf("%s: %q: id %d is not within the embedding's %d rows", file, token, id, limit)
		}
	}
	return ids, nil
}

// readAdded reads added_tokens_decoder of tokenizer_config.json, a map from ids to tokens.
func readAdded(dir string, limit int) (map[string]int, error) {
	const file = "tokenizer_config.json"
	config, err := readObject(dir, file)
	if err != nil {
		return nil, err
	}
	table := config.object("added_tokens_decoder")
	ids := make(map[string]int, len(table.names))
	for _, name := range table.names {
		id, err := strconv.Atoi(name)
		if err != nil || id < 0 || id >= limit {
			table.failf(name, "not an id within the embedding's %d rows", limit)
			break
		}
		content := table.object(name).string("content")
		if _, ok := ids[content]; ok {
			table.failf(name, "token %q occurs twice", content)
		}
		ids[content] = id
	}
	return ids, *config.err
}

// place puts tokens in their places. An added token may repeat one of the vocabulary, with the same id.
func (v *vocabulary) place(file string, ids map[string]int, kind int32) error {
	for token, id := range ids {
		for id >= len(v.tokens) {
			v.tokens, v.types = append(v.tokens, ""), append(v.types, 0)
		}
		if token == "" {
			return inputf("%s: id %d: empty token", file, id)
		}
		if old := v.tokens[id]; old != "" && old != token {
			return inputf("%s: id %d is both %q and %q", file, id, min(old, token), max(old, token))
		}
		v.tokens[id], v.types[id] = token, kind
	}
	return nil
}

// fillGaps gives the ids that no token has a name, as the file format wants every id named.
func (v *vocabulary) fillGaps() {
	for id, token := range v.tokens {
		if token == "" {
			v.tokens[id], v.types[id] = fmt.Sprintf("<|unused-%d|>", id), tokenUnused
		}
	}
}

// readMerges reads merges.txt: a line per merge, in the order of their ranks. Only a first line can be a header;
// a later line that starts with # merges tokens that do.
func readMerges(dir string, ids map[string]int) ([]string, error) {
	const file = "merges.txt"
	data, err := readSmall(dir, file)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimRight(string(data), "\r\n"), "\n")
	header := 0
	if strings.HasPrefix(lines[0], "#version:") {
		header = 1
	}
	merges := make([]string, 0, len(lines))
	for i, line := range lines[header:] {
		line = strings.TrimSuffix(line, "\r")
		left, right, ok := strings.Cut(line, " ")
		if !ok || left == "" || right == "" || strings.Contains(right, " ") {
			return nil, inputf("%s: line %d: %q is not two tokens with a space between", file, i+header+1, line)
		}
		for _, token := range []string{left, right, left + right} {
			if _, ok := ids[token]; !ok {
				return nil, inputf("%s: line %d: %q is not in vocab.json", file, i+header+1, token)
			}
		}
		merges = append(merges, line)
	}
	return merges, nil
}

// metadata stores the tokenizer.
func (v *vocabulary) metadata(m *model) {
	m.set("tokenizer.ggml.model", "gpt2")
	m.set("tokenizer.ggml.tokens", v.tokens)
	m.set("tokenizer.ggml.token_type", v.types)
	m.set("tokenizer.ggml.merges", v.merges)
	m.setInt("tokenizer.ggml.eos_token_id", v.eos)
}
