package codec

import (
	"regexp"
	"strings"

	"github.com/libqwen/libqwen/ggml"
)

// Tap is an intermediate result of all frames since Reset, named and laid out as the reference has it: [T, C] in the
// transformer, [C, T] elsewhere, row-major.
type Tap struct {
	Name  string
	Shape []int
	Data  []float32
}

// NewTappedStream makes a stream that keeps the results of all stages, for looking at. It is slower, and its memory
// grows with each frame.
func (d *Decoder) NewTappedStream(maxWidth int) (*Stream, error) {
	s, err := d.NewStream(maxWidth)
	if err == nil {
		s.taps = &recorder{at: map[string]int{}}
	}
	return s, err
}

// Taps are the stages' results in the order of the computation; none unless the stream is a tapped one.
func (s *Stream) Taps() []Tap {
	if s.taps == nil {
		return nil
	}
	out := make([]Tap, len(s.taps.taps))
	for i, t := range s.taps.taps {
		out[i] = t.reference()
	}
	return out
}

// transformerTaps is how the names of the transformer's stages start.
const transformerTaps = "pre_tf_"

// inAttention matches the names that nn.Attention gives.
var inAttention = regexp.MustCompile(`^L\d+_`)

// recorder strings the results of the passes together: rows of channels, [T, C] row-major.
type recorder struct {
	taps []Tap
	at   map[string]int
}

func (r *recorder) reset() { r.taps, r.at = nil, map[string]int{} }

func (r *recorder) record(taps []ggml.Tap, width int) {
	for _, t := range taps {
		if inAttention.MatchString(t.Name) {
			t.Name = transformerTaps + t.Name
		}
		n := t.Dim(1)
		if strings.HasPrefix(t.Name, transformerTaps) {
			n = width // there may be more: see fewestRows
		}
		i, known := r.at[t.Name]
		if !known {
			i = len(r.taps)
			r.at[t.Name] = i
			r.taps = append(r.taps, Tap{Name: t.Name, Shape: []int{0, t.Dim(0)}})
		}
		tap, rows := &r.taps[i], make([]float32, t.Dim(0)*n)
		t.GetF32(rows)
		tap.Data = append(tap.Data, rows...)
		tap.Shape[0] += n
	}
}

// reference is the tap in the layout of the reference.
func (t Tap) reference() Tap {
	rows, channels := t.Shape[0], t.Shape[1]
	if strings.HasPrefix(t.Name, transformerTaps) {
		return t
	}
	out := Tap{Name: t.Name, Shape: []int{channels, rows}, Data: make([]float32, len(t.Data))}
	for r := range rows {
		for c := range channels {
			out.Data[c*rows+r] = t.Data[r*channels+c]
		}
	}
	return out
}
