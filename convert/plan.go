package convert

import (
	"fmt"
	"path"
	"strings"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// Override gives the tensors whose names fit a pattern of [path.Match] a type of their own.
type Override struct {
	Pattern string
	Type    gguf.Type
}

// ParseOverride reads PATTERN=TYPE.
func ParseOverride(s string) (Override, error) {
	pattern, name, ok := strings.Cut(s, "=")
	if !ok || pattern == "" || name == "" {
		return Override{}, requestf("%q is not PATTERN=TYPE", s)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return Override{}, requestf("%q is not a pattern: %v", pattern, err)
	}
	t, err := gguf.ParseType(name)
	if err != nil || !writable(t) {
		return Override{}, requestf("%q: %s is not a type that weights can be written as", s, name)
	}
	return Override{pattern, t}, nil
}

// writable tells whether a weight can be written as the type, without a matrix of importance.
func writable(t gguf.Type) bool {
	switch t {
	case gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0, gguf.Q6_K, gguf.Q5_K, gguf.Q4_K, gguf.Q3_K, gguf.Q2_K,
		gguf.Q4_0, gguf.Q4_1, gguf.Q5_0, gguf.Q5_1, gguf.IQ4_NL, gguf.IQ4_XS:
		return true
	}
	return false
}

// Step is what becomes of one tensor.
type Step struct {
	Name          string
	Shape         []int64 // ggml's order
	From, To      gguf.Type
	Before, After int64 // bytes
	Reason        string
}

// Plan is what becomes of a file, tensor by tensor.
type Plan struct {
	Steps  []Step
	file   *gguf.File
	recipe *recipe
}

// QuantizeOptions say what is wanted of a file.
type QuantizeOptions struct {
	Type       string     // one of Recipes
	Overrides  []Override // of the policy; the first that fits counts
	Requantize bool       // also make other blocks of what is in blocks already, which loses more than doing so at once
}

// architectures are those whose tensors the policy knows.
var architectures = []string{"qwen3-tts", "qwen3-tts-tokenizer"}

// NewPlan applies the policy to an open file of a talker or speech tokenizer, which must stay open as long as the plan
// is in use. Errors are ErrRequest or ErrInput.
func NewPlan(f *gguf.File, o QuantizeOptions) (*Plan, error) {
	p, err := newPlan(f, o)
	if err != nil {
		return nil, err
	}
	return p, p.check(o)
}

// newPlan is NewPlan for a source that may be of the wanted type already.
func newPlan(f *gguf.File, o QuantizeOptions) (*Plan, error) {
	r, err := findRecipe(o.Type)
	if err != nil {
		return nil, requestf("type %v", err)
	}
	if err := checkArchitecture(f); err != nil {
		return nil, err
	}
	p := &Plan{file: f, recipe: r}
	names := make([]string, len(f.Tensors()))
	for i, t := range f.Tensors() {
		names[i] = t.Name
	}
	layers := countLayers(names)
	used := make([]bool, len(o.Overrides))
	for i := range f.Tensors() {
		t := &f.Tensors()[i]
		c, err := p.choose(t, layers, o, used)
		if err != nil {
			return nil, err
		}
		step := Step{Name: t.Name, Shape: t.Shape, From: t.Type, To: c.typ, Before: t.Size, Reason: c.why}
		rows := t.Elements() / t.Shape[0]
		row, err := c.typ.RowBytes(t.Shape[0])
		if err != nil {
			return nil, inputf("%s: %w", t.Name, err)
		}
		step.After = rows * row
		p.Steps = append(p.Steps, step)
	}
	for i, u := range used {
		if !u {
			return nil, requestf("no tensor has a name like %s", o.Overrides[i].Pattern)
		}
	}
	return p, nil
}

func checkArchitecture(f *gguf.File) error {
	arch, err := f.String("general.architecture")
	if err != nil {
		return inputf("%w", err)
	}
	for _, a := range architectures {
		if arch == a {
			return nil
		}
	}
	return inputf("general.architecture: %q is not a file of this engine (%s)", arch, strings.Join(architectures, ", "))
}

// choose is the type of a tensor: that of an override, or of the policy, unless that is wider than what is there.
func (p *Plan) choose(t *gguf.TensorInfo, layers map[string]int, o QuantizeOptions, used []bool) (choice, error) {
	if !floating(t.Type) || len(t.Shape) == 0 {
		return choice{}, inputf("%s: %v %s is no weight", t.Name, t.Type, gguf.FormatShape(t.Shape))
	}
	for i, over := range o.Overrides {
		if ok, _ := path.Match(over.Pattern, t.Name); !ok {
			continue
		}
		used[i] = true
		why := fmt.Sprintf("asked for, %s=%v", over.Pattern, over.Type)
		if over.Type.BlockSize() > 1 && (len(t.Shape) < 2 || strings.Contains(t.Name, ".vq_")) {
			return choice{}, requestf("%s=%v: %s %s must not be in blocks; F32, F16 and BF16 are possible", over.Pattern, over.Type, t.Name, gguf.FormatShape(t.Shape))
		}
		return fitting(over.Type, t.Shape, why), nil
	}
	stack, layer := layerOf(t.Name)
	c := p.recipe.choose(t.Name, t.Shape, layer, layers[stack])
	if p.recipe.matrix.BlockSize() > 1 && t.Type.BlockSize() > 1 && t.Type != c.typ && bitsOf(c.typ) >= bitsOf(t.Type) {
		return choice{t.Type, fmt.Sprintf("%s; it stays what it is, %v would bring nothing back", c.why, c.typ)}, nil
	}
	return c, nil
}

// floating tells whether weights of the type can be read.
func floating(t gguf.Type) bool {
	switch t {
	case gguf.I8, gguf.I16, gguf.I32, gguf.I64, gguf.F64, gguf.Q8_1, gguf.Q8_K:
		return false
	}
	return true
}

// bitsOf are the bits of an element.
func bitsOf(t gguf.Type) float64 { return 8 * float64(t.BlockBytes()) / float64(t.BlockSize()) }

// check refuses what makes no sense.
func (p *Plan) check(o QuantizeOptions) error {
	changes := 0
	for _, s := range p.Steps {
		if s.From == s.To {
			continue
		}
		changes++
		if s.From.BlockSize() > 1 && !o.Requantize {
			return requestf("%s is %v already, and making %v of it loses more than making it of F32 or BF16; --requantize does so all the same", s.Name, s.From, s.To)
		}
	}
	if changes == 0 {
		return requestf("every tensor has the type that it would have in a file of %s already", p.recipe.name)
	}
	return nil
}

// Type is that of the planned file, one of Recipes.
func (p *Plan) Type() string { return p.recipe.name }

// Bytes are the sizes of all tensors, before and after.
func (p *Plan) Bytes() (before, after int64) {
	for _, s := range p.Steps {
		before += s.Before
		after += s.After
	}
	return before, after
}
