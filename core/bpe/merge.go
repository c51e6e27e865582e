package bpe

import "math"

// pairKey is the key in Tokenizer.ranks of two neighbouring tokens.
func pairKey(left, right int32) uint64 {
	return uint64(uint32(left))<<32 | uint64(uint32(right))
}

// symbol is one token of the word being merged: a node of a doubly linked list
// in an array. A symbol that has been merged into its left neighbour has id -1.
type symbol struct {
	id         int32
	prev, next int // -1 at the ends
}

// candidate is a merge that was possible when it was queued: the symbol at pos
// with the one to its right.
type candidate struct {
	rank int32
	pos  int
}

// before orders candidates: the lowest rank first, then the leftmost.
func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.pos < d.pos
}

// merger applies the merges of a tokenizer to one word after the other, in
// O(n log n) for a word of n bytes. Its buffers are kept between words.
type merger struct {
	*Tokenizer
	limit   int32 // merges from this rank on are not applied
	symbols []symbol
	queue   []candidate // binary heap
}

func (t *Tokenizer) newMerger() *merger {
	return &merger{Tokenizer: t, limit: math.MaxInt32}
}

// appendWord appends the tokens of word to dst.
func (m *merger) appendWord(dst []int32, word string) []int32 {
	if len(word) == 1 {
		return append(dst, m.byteIDs[word[0]])
	}
	m.start(word)
	for len(m.queue) > 0 {
		m.apply(m.pop())
	}
	for i := 0; i >= 0; i = m.symbols[i].next {
		dst = append(dst, m.symbols[i].id)
	}
	return dst
}

// start lays out one symbol a byte and queues the merges between them.
func (m *merger) start(word string) {
	m.symbols, m.queue = m.symbols[:0], m.queue[:0]
	for i := range len(word) {
		m.symbols = append(m.symbols, symbol{m.byteIDs[word[i]], i - 1, i + 1})
	}
	m.symbols[len(word)-1].next = -1
	for i := range len(word) - 1 {
		m.offer(i)
	}
}

// rank returns the rank of the merge of the symbol at pos with its right
// neighbour; false if there is none.
func (m *merger) rank(pos int) (int32, bool) {
	s := m.symbols[pos]
	if s.id < 0 || s.next < 0 {
		return 0, false
	}
	rank, ok := m.ranks[pairKey(s.id, m.symbols[s.next].id)]
	return rank, ok && rank < m.limit
}

// offer queues the merge at pos, if there is one.
func (m *merger) offer(pos int) {
	if rank, ok := m.rank(pos); ok {
		m.push(candidate{rank, pos})
	}
}

// apply merges at c.pos, unless an earlier merge took one of the two symbols.
func (m *merger) apply(c candidate) {
	if rank, ok := m.rank(c.pos); !ok || rank != c.rank {
		return
	}
	s := &m.symbols[c.pos]
	right := &m.symbols[s.next]
	s.id, s.next, right.id = m.result(c.rank), right.next, -1
	if s.next >= 0 {
		m.symbols[s.next].prev = c.pos
		m.offer(c.pos)
	}
	if s.prev >= 0 {
		m.offer(s.prev)
	}
}

func (m *merger) push(c candidate) {
	m.queue = append(m.queue, c)
	q, i := m.queue, len(m.queue)-1
	for i > 0 {
		up := (i - 1) / 2
		if !c.before(q[up]) {
			break
		}
		q[i], i = q[up], up
	}
	q[i] = c
}

func (m *merger) pop() candidate {
	q := m.queue
	top, c := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	m.queue = q
	if len(q) == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(q) {
			break
		}
		if down+1 < len(q) && q[down+1].before(q[down]) {
			down++
		}
		if !q[down].before(c) {
			break
		}
		q[i], i = q[down], down
	}
	q[i] = c
	return top
}
