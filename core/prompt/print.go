package prompt

import (
	"fmt"
	"strings"
)

// String prints the prompt, a line a row: the text token, and what is added to it
// on the codec side. Lines f0, f1, … are the overlay of the frames.
func (p *Prompt) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "prompt: %d rows, %d text tokens, language %s", len(p.Rows), p.TextTokens, p.Language)
	if p.Speaker != "" {
		fmt.Fprintf(&s, ", speaker %s", p.Speaker)
	}
	s.WriteByte('\n')
	for i, row := range p.Rows {
		line := fmt.Sprintf("%5d  %6d %-20s %s", i, row.Text, p.token(row.Text), p.codec(row))
		s.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for t, id := range p.Overlay {
		fmt.Fprintf(&s, "%5s  %6d %s\n", fmt.Sprintf("f%d", t), id, p.token(id))
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&s, "warning: %s\n", w)
	}
	return s.String()
}

func (p *Prompt) token(id int32) string {
	if p.tok == nil {
		return ""
	}
	return fmt.Sprintf("%q", p.tok.Decode([]int32{id}))
}

func (p *Prompt) codec(row Row) string {
	switch {
	case row.Speaker:
		return "+ x-vector"
	case row.RefFrame != None:
		return fmt.Sprintf("+ reference frame %d", row.RefFrame)
	case row.Codec != None:
		return strings.TrimRight(fmt.Sprintf("+ codec %d %s", row.Codec, p.vocab.codecName(row.Codec)), " ")
	}
	return ""
}

// codecName names a codec id; "" for one that is just a code. It works on nil.
func (v *Vocab) codecName(id int32) string {
	if v == nil {
		return ""
	}
	c := v.Codec
	for _, n := range []namedID{
		{"pad", c.Pad}, {"bos", c.BOS}, {"eos", c.EOS}, {"think", c.Think},
		{"nothink", c.NoThink}, {"think_bos", c.ThinkBOS}, {"think_eos", c.ThinkEOS},
	} {
		if n.id == id {
			return n.name
		}
	}
	for _, l := range v.Languages {
		if l.ID == id {
			return l.Name
		}
	}
	for _, s := range v.Speakers {
		if s.ID == id {
			return s.Name
		}
	}
	return ""
}
