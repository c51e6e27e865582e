package convert

import (
	"fmt"
	"path"
	"strings"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// A recipe is a type of file: what type the tensors of each role have in it. Published files follow the same policy:
// what codes and voices are looked up with stays exact, tables and heads have six bits, attn_v and ffn_down, on which
// quality hangs most, are wider than the rest, in some or all layers.
type recipe struct {
	name     string
	fileType uint32 // general.file_type: llama.cpp's enum llama_ftype
	matrix   gguf.Type
	table    gguf.Type // embeddings, of which single rows are read
	head     gguf.Type // what gives logits
	bridge   gguf.Type // projections from one model's width to another's
	attnV    mix
	attnOut  mix
	ffnDown  mix
}

// A mix gives some layers of a stack a wider type.
type mix struct {
	typ, wide gguf.Type
	which     func(layer, layers int) bool // the wide ones; nil: none
}

func all(t gguf.Type) mix { return mix{typ: t} }

const (
	tF32, tF16, tBF16, tQ80 = gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0
	tQ40, tQ6K, tQ5K, tQ4K  = gguf.Q4_0, gguf.Q6_K, gguf.Q5_K, gguf.Q4_K
	tQ3K, tQ2K              = gguf.Q3_K, gguf.Q2_K
)

// recipes is the policy, one line a type of file. exempt says which tensors it does not apply to.
//
//	name        file_type matrix table head  bridge attn_v                  attn_output ffn_down
var recipes = []recipe{
	{"F32", 0, tF32, tF32, tF32, tF32, all(tF32), all(tF32), all(tF32)},
	{"BF16", 32, tBF16, tBF16, tBF16, tBF16, all(tBF16), all(tBF16), all(tBF16)},
	{"F16", 1, tF16, tF16, tF16, tF16, all(tF16), all(tF16), all(tF16)},
	{"Q8_0", 7, tQ80, tQ80, tQ80, tQ80, all(tQ80), all(tQ80), all(tQ80)},
	{"Q6_K", 18, tQ6K, tQ6K, tQ6K, tQ6K, all(tQ6K), all(tQ6K), all(tQ6K)},
	{"Q5_K_M", 17, tQ5K, tQ6K, tQ6K, tQ6K, mix{tQ5K, tQ6K, spread}, all(tQ5K), mix{tQ5K, tQ6K, spread}},
	{"Q5_K_S", 16, tQ5K, tQ6K, tQ6K, tQ6K, all(tQ5K), all(tQ5K), all(tQ5K)},
	{"Q4_K_M", 15, tQ4K, tQ6K, tQ6K, tQ6K, mix{tQ4K, tQ6K, spread}, all(tQ4K), mix{tQ4K, tQ6K, spread}},
	{"Q4_K_S", 14, tQ4K, tQ6K, tQ6K, tQ6K, mix{tQ4K, tQ5K, eighth}, all(tQ4K), mix{tQ4K, tQ5K, eighth}},
	{"Q4_0", 2, tQ40, tQ6K, tQ6K, tQ6K, all(tQ40), all(tQ40), all(tQ40)},
	{"Q3_K_M", 12, tQ3K, tQ6K, tQ6K, tQ6K, mix{tQ4K, tQ5K, eighth}, all(tQ4K), mix{tQ3K, tQ4K, spread}},
	{"Q2_K", 10, tQ2K, tQ6K, tQ6K, tQ6K, all(tQ3K), all(tQ3K), all(tQ3K)},
}

// spread is the first and the last eighth of the layers and every third between.
func spread(layer, layers int) bool {
	return layer < layers/8 || layer >= 7*layers/8 || (layer-layers/8)%3 == 2
}

// eighth is the first eighth of the layers.
func eighth(layer, layers int) bool { return layer < max(layers/8, 1) }

// exempt are the tensors that have the same type in every file but those at F32, and why. The first that fits counts.
var exempt = []struct {
	typ  gguf.Type
	fits func(name string, shape []int64) bool
	why  string
}{
	{tF32, func(_ string, shape []int64) bool { return len(shape) < 2 }, "vector"},
	{tF32, func(name string, _ []int64) bool { return strings.Contains(name, ".vq_") }, "codebooks and their projections: the nearest vector must stay the nearest"},
	{tF32, func(name string, _ []int64) bool { return strings.HasPrefix(name, "spk_enc.") }, "speaker encoder: it is what a voice is told by"},
	{tF16, func(_ string, shape []int64) bool { return len(shape) > 2 }, "convolution: its rows, as long as the kernel, make no blocks"},
}

// roles are the matrices that recipes treat apart from others, by patterns of path.Match; the first that fits counts.
var roles = []struct {
	pattern, why string
	mix          func(*recipe) mix
}{
	{"*.text_embd.weight", "embedding", func(r *recipe) mix { return all(r.table) }},
	{"*.codec_embd.weight", "embedding", func(r *recipe) mix { return all(r.table) }},
	{"*.codec_embd.*.weight", "embedding", func(r *recipe) mix { return all(r.table) }},
	{"*.codec_head.weight", "head", func(r *recipe) mix { return all(r.head) }},
	{"*.lm_head.*.weight", "head", func(r *recipe) mix { return all(r.head) }},
	{"*.text_proj.*.weight", "projection between widths", func(r *recipe) mix { return all(r.bridge) }},
	{"*.mtp_proj.weight", "projection between widths", func(r *recipe) mix { return all(r.bridge) }},
	{"*.attn_v.weight", "attn_v", func(r *recipe) mix { return r.attnV }},
	{"*.attn_output.weight", "attn_output", func(r *recipe) mix { return r.attnOut }},
	{"*.ffn_down.weight", "ffn_down", func(r *recipe) mix { return r.ffnDown }},
}

// fallbacks are the types for rows that do not divide into blocks of 256; where not even 32 divides them, F16.
var fallbacks = map[gguf.Type]gguf.Type{
	tQ6K: tQ80, tQ5K: gguf.Q5_1, tQ4K: gguf.Q5_0, tQ3K: tQ40, tQ2K: tQ40, gguf.IQ4_XS: gguf.IQ4_NL,
}

// Recipes are the names of the types of files, from exact to small.
func Recipes() []string {
	names := make([]string, len(recipes))
	for i, r := range recipes {
		names[i] = r.name
	}
	return names
}

// findRecipe finds a type of file by its name, in capitals or not.
func findRecipe(name string) (*recipe, error) {
	for i := range recipes {
		if strings.EqualFold(recipes[i].name, name) {
			return &recipes[i], nil
		}
	}
	return nil, fmt.Errorf("%s is not one of %s", name, strings.Join(Recipes(), ", "))
}

// choice is the type of a tensor in a file, and the reason.
type choice struct {
	typ gguf.Type
	why string
}

// choose applies the policy to a tensor, whose shape is in ggml's order. layers is the number of layers of its stack.
func (r *recipe) choose(name string, shape []int64, layer, layers int) choice {
	if r.matrix == tF32 {
		return choice{tF32, "everything"}
	}
	for _, e := range exempt {
		if e.fits(name, shape) {
			return choice{e.typ, e.why}
		}
	}
	for _, role := range roles {
		if ok, _ := path.Match(role.pattern, name); !ok {
			continue
		}
		m, why := role.mix(r), role.why
		if m.which != nil && layer >= 0 && m.which(layer, layers) {
			return fitting(m.wide, shape, fmt.Sprintf("%s of layer %d of %d", why, layer, layers))
		}
		return fitting(m.typ, shape, why)
	}
	return fitting(r.matrix, shape, "matrix")
}

// fitting is the type, or the one to fall back to for the length of the rows.
func fitting(t gguf.Type, shape []int64, why string) choice {
	row := shape[0]
	for row%int64(t.BlockSize()) != 0 {
		next, ok := fallbacks[t]
		if !ok {
			next = tF16
		}
		why += fmt.Sprintf("; rows of %d are no blocks of %v's %d, %v instead", row, t, t.BlockSize(), next)
		t = next
	}
	return choice{t, why}
}

// layerOf is the number of the layer that a tensor belongs to and the name of its stack; -1 if it is in none.
func layerOf(name string) (stack string, layer int) {
	stack, rest, ok := strings.Cut(name, ".blk.")
	if !ok {
		return "", -1
	}
	if _, err := fmt.Sscanf(rest, "%d.", &layer); err != nil {
		return "", -1
	}
	return stack, layer
}

// countLayers counts the layers of each stack.
func countLayers(names []string) map[string]int {
	layers := map[string]int{}
	for _, name := range names {
		if stack, layer := layerOf(name); layer >= 0 {
			layers[stack] = max(layers[stack], layer+1)
		}
	}
	return layers
}
