package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// geometry is what else depends on.
type geometry struct {
	width, predictorWidth int // of Talker and CodePredictor
	codes                 int // entries of a codebook
}

// What the official checkpoints have, and older files of the second family do not tell.
const (
	defaultEps      = float32(1e-6)
	defaultRopeBase = float32(1e6)
	defaultContext  = 32768
)

// measure is a whole number of the geometry: the last part of its key, other spellings of it, and the dimension of a
// tensor that tells it if no key does.
type measure struct {
	name    string
	aliases []string
	tensor  string // below the stack's prefix
	dim     int
}

// sizes of a stack of decoder layers. Heads are told by a tensor only together with key_length.
var stackSizes = []measure{
	{"embedding_length", []string{"hidden_size"}, "output_norm.weight", 0},
	{"feed_forward_length", []string{"intermediate_size"}, "blk.0.ffn_gate.weight", 1},
	{"attention.key_length", []string{"head_dim"}, "blk.0.attn_q_norm.weight", 0},
	{"attention.head_count", []string{"num_attention_heads"}, "blk.0.attn_q.weight", 1},
	{"attention.head_count_kv", []string{"num_key_value_heads"}, "blk.0.attn_k.weight", 1},
}

// stack is where the geometry of a stack is told.
type stack struct {
	file   *gguf.File
	to     string   // prefix of the result's keys
	from   []string // prefixes of the keys that tell
	prefix string   // of tensors
}

func (s *second) geometry() geometry {
	talker := stack{s.talker, "talker.", []string{"talker.", ""}, "talker."}
	predictor := stack{s.predictor, "code_pred.", []string{"code_pred.", "code_predictor."}, "code_pred."}
	var g geometry
	g.width = s.stack(talker)
	eps := s.float(talker, "attention.layer_norm_rms_epsilon", "rms_norm_eps", defaultEps, true)
	base := s.float(talker, "rope.freq_base", "rope_theta", defaultRopeBase, true)
	s.measure(talker, measure{"vocab_size", []string{"codec_vocab_size"}, "codec_embd.weight", 1})
	s.measure(talker, measure{"text_vocab_size", []string{"text.vocab_size"}, "text_embd.weight", 1})
	s.measure(talker, measure{"text_hidden_size", []string{"text.embedding_dim"}, "text_embd.weight", 0})
	s.context(talker)

	g.predictorWidth = s.stack(predictor)
	s.float(predictor, "attention.layer_norm_rms_epsilon", "rms_norm_eps", eps, false)
	s.float(predictor, "rope.freq_base", "rope_theta", base, false)
	g.codes = s.measure(predictor, measure{"vocab_size", nil, "lm_head.0.weight", 1})
	s.groups()
	return g
}

// stack sets the sizes of a stack and returns its width.
func (s *second) stack(t stack) int {
	s.layers(t)
	width, headDim := 0, 0
	for _, z := range stackSizes {
		n, told := s.told(t, z)
		if !told {
			n = s.dim(t, z)
			if strings.HasPrefix(z.name, "attention.head_count") && headDim > 0 {
				if n%headDim != 0 {
					s.fail("%s%s: %d rows are no multiple of a head's %d", t.prefix, z.tensor, n, headDim)
				}
				n /= headDim
			}
		}
		switch z.name {
		case "embedding_length":
			width = n
		case "attention.key_length":
			headDim = n
		}
		s.set(ns+t.to+z.name, int64(n))
	}
	return width
}

// measure sets a size and returns it.
func (s *second) measure(t stack, z measure) int {
	n, told := s.told(t, z)
	if !told {
		n = s.dim(t, z)
	}
	s.set(ns+t.to+z.name, int64(n))
	return n
}

// told is a size that the metadata tells.
func (s *second) told(t stack, z measure) (int, bool) {
	if key, ok := t.key(append([]string{z.name}, z.aliases...)...); ok {
		return get(&s.reader, t.file.Int, key), true
	}
	return 0, false
}

// key is the first key that the file has, of the names below the stack's prefixes.
func (t stack) key(names ...string) (string, bool) {
	for _, prefix := range t.from {
		for _, name := range names {
			if key := ns + prefix + name; t.file.Has(key) {
				return key, true
			}
		}
	}
	return "", false
}

// dim is a size that a tensor's shape tells.
func (s *second) dim(t stack, z measure) int {
	tensor := t.file.Tensor(t.prefix + z.tensor)
	switch {
	case tensor == nil:
		s.fail("%s%s%s: missing, and so is the tensor that would tell it, %s%s", ns, t.to, z.name, t.prefix, z.tensor)
		return 0
	case z.dim >= len(tensor.Shape):
		s.fail("%s: shape %s has no dimension %d", tensor.Name, gguf.FormatShape(tensor.Shape), z.dim)
		return 0
	}
	return int(tensor.Shape[z.dim])
}

// layers sets the number of layers: what the metadata tell, else the blocks that there are.
func (s *second) layers(t stack) {
	n, told := s.told(t, measure{name: "block_count", aliases: []string{"layer_count", "num_hidden_layers"}})
	if !told {
		n = t.count("blk.%d.attn_norm.weight")
	}
	s.set(ns+t.to+"block_count", int64(n))
}

// count is how many tensors are named like that, from 0 on.
func (t stack) count(pattern string) int {
	n := 0
	for t.file.Tensor(t.prefix+fmt.Sprintf(pattern, n)) != nil {
		n++
	}
	return n
}

// float sets a number that no tensor tells; note it if it is a default that stands for the official checkpoints.
func (s *second) float(t stack, name, alias string, def float32, note bool) float32 {
	v := def
	if key, ok := t.key(name, alias); ok {
		v = get(&s.reader, t.file.Float32, key)
	} else if note {
		s.assumed(t.to + name)
	}
	s.set(ns+t.to+name, v)
	return v
}

// assumed notes a key that no file has.
func (s *second) assumed(key string) { s.defaults = append(s.defaults, ns+key) }

func (s *second) context(t stack) {
	n, told := s.told(t, measure{name: "context_length", aliases: []string{"max_position_embeddings"}})
	if !told {
		n = defaultContext
		s.assumed("talker.context_length")
	}
	s.set(ns+"talker.context_length", int64(n))
}

// groups sets the number of codebooks: what either file tells, else one more than the predictor embeds.
func (s *second) groups() {
	names := []string{"num_code_groups", "num_codebooks"}
	key, ok := stack{file: s.talker, from: []string{"", "talker."}}.key(names...)
	f := s.talker
	if !ok {
		f = s.predictor
		key, ok = stack{file: f, from: []string{"", "code_pred.", "code_predictor."}}.key(names...)
	}
	n := 1 + stack{file: s.predictor, prefix: "code_pred."}.count("codec_embd.%d.weight")
	if ok {
		n = get(&s.reader, f.Int, key)
	}
	s.set(ns+"num_code_groups", int64(n))
}

const speakerEncoder = "spk_enc."

// projections are the names that the projection from the Talker's to the CodePredictor's width goes by.
var projections = []string{
	"code_pred.small_to_mtp_projection", "talker.code_predictor.small_to_mtp_projection", "small_to_mtp_projection", projection,
}

// projection is its name in the first family.
const projection = "code_pred.mtp_proj"

// tensors lists the tensors of the assembled file: of a file that holds more than what it is asked for, such as a
// bundle beside which the predictor is given apart, only that.
func (s *second) tensors(g geometry) {
	s.projection(g)
	for i, f := range s.files {
		for _, t := range f.Tensors() {
			switch {
			case slices.ContainsFunc(projections, func(p string) bool { return strings.HasPrefix(t.Name, p+".") }):
			case strings.HasPrefix(t.Name, "talker."), strings.HasPrefix(t.Name, speakerEncoder):
				s.take(f, s.talker, i, t)
			case strings.HasPrefix(t.Name, "code_pred."):
				s.take(f, s.predictor, i, t)
			case f == s.talker || f == s.predictor:
				s.fail("%s: %s: surplus: a tensor that this model does not have", s.names[f], t.Name)
			}
		}
	}
}

// take lists a tensor of file number i if that is the file it is expected in.
func (s *second) take(f, of *gguf.File, i int, t gguf.TensorInfo) {
	if f != of {
		return
	}
	_, offset, _ := f.Place(&t)
	t.Offset = int64(offset)
	s.parts.Tensors = append(s.parts.Tensors, gguf.Piece{TensorInfo: t, Mapping: i})
}

// projection lists the projection, which may be in either file; the predictor's comes first. It is checked here, where
// its name in the file is known.
func (s *second) projection(g geometry) {
	weight, wf := s.findProjection(".weight")
	bias, bf := s.findProjection(".bias")
	switch {
	case weight == nil && bias == nil:
		if g.width != g.predictorWidth {
			s.fail("%s.weight: missing: a code predictor of width %d needs a projection from the talker's %d", projections[0], g.predictorWidth, g.width)
		}
		return
	case weight == nil:
		s.fail("%s: has no weight beside it", bias.Name)
		return
	case bias == nil:
		s.fail("%s: has no bias beside it", weight.Name)
		return
	}
	s.project(wf, weight, ".weight", g.width, g.predictorWidth)
	s.project(bf, bias, ".bias", g.predictorWidth)
}

func (s *second) findProjection(suffix string) (*gguf.TensorInfo, *gguf.File) {
	for _, f := range []*gguf.File{s.predictor, s.talker} {
		for _, p := range projections {
			if t := f.Tensor(p + suffix); t != nil {
				return t, f
			}
		}
	}
	return nil, nil
}

func (s *second) project(f *gguf.File, found *gguf.TensorInfo, suffix string, want ...int) {
	shape := make([]int64, len(want))
	for i, n := range want {
		shape[i] = int64(n)
	}
	if !slices.Equal(found.Shape, shape) {
		s.fail("%s: shape %s, want %s", found.Name, gguf.FormatShape(found.Shape), gguf.FormatShape(shape))
		return
	}
	t := *found
	_, offset, _ := f.Place(found)
	t.Name, t.Offset = projection+suffix, int64(offset)
	s.parts.Tensors = append(s.parts.Tensors, gguf.Piece{TensorInfo: t, Mapping: slices.Index(s.files, f)})
}
