package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// weight is one tensor of the GGUF file and where it comes from.
type weight struct {
	name  string  // in the GGUF file
	src   string  // in the checkpoint
	shape []int64 // PyTorch's order, the last is the length of a row; GGUF has the reverse
	usage string  // a codebook's cluster usage in the checkpoint: src is divided by it, row by row
}

// layout lists what a model's checkpoint must hold, no more and no less.
type layout struct {
	weights []weight
	unused  map[string]bool // tensors of the checkpoint that inference does not need
}

func (l *layout) add(src, name string, shape ...int) {
	w := weight{name: name, src: src}
	for _, n := range shape {
		w.shape = append(w.shape, int64(n))
	}
	l.weights = append(l.weights, w)
}

// affine adds src.weight of the given shape and src.bias, which has out values.
func (l *layout) affine(src, name string, out int, shape ...int) {
	l.add(src+".weight", name+".weight", shape...)
	l.add(src+".bias", name+".bias", out)
}

// linear adds a dense layer with a bias.
func (l *layout) linear(src, name string, out, in int) { l.affine(src, name, out, out, in) }

// conv adds a convolution with a bias.
func (l *layout) conv(src, name string, out, in, kernel int) {
	l.affine(src, name, out, out, in, kernel)
}

// convTranspose adds a transposed convolution with a bias.
func (l *layout) convTranspose(src, name string, in, out, kernel int) {
	l.affine(src, name, out, in, out, kernel)
}

// codebook adds a codebook, which checkpoints keep as sums and how many vectors went into each.
func (l *layout) codebook(src, sum, name string, size, dim int) {
	l.add(src+"."+sum, name+".codebook", size, dim)
	l.weights[len(l.weights)-1].usage = src + ".cluster_usage"
}

// skip notes tensors that the checkpoint may hold and the GGUF file does not.
func (l *layout) skip(names ...string) {
	if l.unused == nil {
		l.unused = map[string]bool{}
	}
	for _, name := range names {
		l.unused[name] = true
	}
}

// match compares the layout with the names and shapes of a checkpoint.
func (l *layout) match(have map[string][]int64) error {
	left := maps.Clone(have)
	var wrong []string
	check := func(src, name string, want []int64) {
		got, ok := have[src]
		delete(left, src)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s: missing, needed for %s", src, name))
		} else if !slices.Equal(got, want) {
			wrong = append(wrong, fmt.Sprintf("%s: shape %v, but %v expected for %s", src, got, want, name))
		}
	}
	for _, w := range l.weights {
		check(w.src, w.name, w.shape)
		if w.usage != "" {
			check(w.usage, w.name, w.shape[:1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if !l.unused[name] {
			wrong = append(wrong, fmt.Sprintf("%s: surplus, no part of this model", name))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	const show = 3
	more := ""
	if len(wrong) > show {
		more = fmt.Sprintf("; and %d more", len(wrong)-show)
		wrong = wrong[:show]
	}
	return inputf("weights: %s%s", strings.Join(wrong, "; "), more)
}
