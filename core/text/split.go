package text

import "math"

// Split cuts a text into pieces, in order. Nothing but white space is left out: what lies between the end of a piece and
// the Start of the next is white space. A blank text has no pieces.
//
// A piece takes as many whole sentences as fit, but ends with a paragraph once it is half full, and the last two share
// what is left evenly.
func Split(s string, o Options) []Piece {
	if s == "" {
		return nil
	}
	t := newScan(s, o.Language)
	limit := float64(DefaultFrames)
	weigh := runeFrames
	if o.MaxCharacters > 0 {
		limit, weigh = float64(o.MaxCharacters), func(rune) float64 { return 1 }
	}
	p := packer{scan: t, limit: limit, before: make([]float64, len(t.runes)+1)}
	for i, r := range t.runes {
		p.before[i+1] = p.before[i] + weigh(r)
	}
	return p.pieces()
}

// packer fills pieces.
type packer struct {
	*scan
	limit  float64
	before []float64 // weight of what precedes each rune
}

func (p *packer) pieces() (pieces []Piece) {
	for from := p.skipSpace(0); from < len(p.runes); {
		to, ends := p.next(from)
		stop := p.trim(from, to)
		start := p.offsets[from]
		pieces = append(pieces, Piece{p.text[start:p.offsets[stop]], start, ends})
		from = p.skipSpace(to)
	}
	if len(pieces) > 0 {
		pieces[len(pieces)-1].Ends = End
	}
	return pieces
}

// next returns where the piece that begins at from ends, and with what.
func (p *packer) next(from int) (int, Boundary) {
	var last [End]int // place of each kind within the limit
	var sentences []int
	end := from // of what fits, less the white space at its end
	i := from + 1
	for ; i < len(p.runes); i++ {
		if !isSpace(p.runes[i-1]) {
			end = i
		}
		if p.weight(from, end) > p.limit {
			break
		}
		if b := p.breaks[i]; b > 0 {
			last[b] = i
			if b >= Sentence {
				sentences = append(sentences, i)
			}
		}
	}
	if i == len(p.runes) && p.weight(from, p.trim(from, i)) <= p.limit {
		return i, End
	}
	if at := last[Paragraph]; at > 0 && p.weight(from, at) >= p.limit/2 {
		return at, Paragraph
	}
	if at := p.middle(from, sentences); at > 0 {
		return at, p.breaks[at]
	}
	last[Sentence] = max(last[Sentence], last[Paragraph])
	for b := Sentence; b > 0; b-- {
		if last[b] > 0 {
			return last[b], b
		}
	}
	for i = from + 1; i < len(p.runes) && p.breaks[i] == 0; { // a grapheme cluster beyond the limit
		i++
	}
	return i, Grapheme
}

// middle returns which of the places divides the rest of the text most evenly in two pieces, 0 if none makes two that
// fit.
func (p *packer) middle(from int, places []int) int {
	end := p.trim(from, len(p.runes))
	best, at := math.Inf(1), 0
	for _, i := range places {
		left, right := p.weight(from, p.trim(from, i)), p.weight(i, end)
		if right <= p.limit && math.Abs(left-right) < best {
			best, at = math.Abs(left-right), i
		}
	}
	return at
}

func (p *packer) weight(from, to int) float64 { return p.before[to] - p.before[from] }
