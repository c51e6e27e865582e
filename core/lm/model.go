package lm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// TextProjection brings a text embedding to the Talker's width: y = W2·SiLU(W1·x + b1) + b2.
type TextProjection struct {
	FC1 nn.Affine `gguf:"fc1" shape:"text,text"`
	FC2 nn.Affine `gguf:"fc2" shape:"text,embd"`
}

// Forward maps x [text width, N] to [E, N].
func (p *TextProjection) Forward(x ggml.Tensor) ggml.Tensor {
	return p.FC2.Forward(p.FC1.Forward(x).SiLU())
}

// talkerWeights are the tensors below "talker".
type talkerWeights struct {
	TextEmbd  nn.Table       `gguf:"text_embd" shape:"text,text_vocab"`
	TextProj  TextProjection `gguf:"text_proj"`
	CodecEmbd ggml.Tensor    `gguf:"codec_embd.weight" shape:"embd,vocab" as:"rows"`
	Stack     `gguf:""`
	CodecHead nn.Linear `gguf:"codec_head" shape:"embd,vocab"`
}

// predictorWeights are the tensors below "code_pred". Entry i of CodecEmbd embeds codebook i+1, as wide as the Talker,
// and entry i of Heads scores codebook i+1.
type predictorWeights struct {
	CodecEmbd []ggml.Tensor `gguf:"codec_embd.%d.weight" shape:"talker,codes"`
	Proj      nn.Affine     `gguf:"mtp_proj" shape:"talker,embd" if:"mtp"`
	Stack     `gguf:""`
	Heads     []nn.Linear `gguf:"lm_head.%d" shape:"embd,codes"`
}

// Model is the weights of both language models on a backend. It is read-only and may serve many sessions.
type Model struct {
	Config
	be        *ggml.Backend
	talker    talkerWeights
	predictor predictorWeights
	weights   *nn.Weights
	cacheType ggml.Type // of the CodePredictor's cache, and of the Talker's if it has no other
	keyType   ggml.Type // of the Talker's cache, see nn.NewCacheOf
}

// Options of the computation.
type Options struct {
	ClampFP16 bool       // keep the residual stream within the range of half precision
	Cache     *ggml.Type // of keys and values: F32, F16, or Q8_0, keys only without flash attention; nil: F32 for files of F32, else F16
	Spare     uint64     // bytes of memory that copies may take which are only made to be read faster
	NoFlash   bool       // no flash attention even where the device has it

	flashOnCPU bool // have it on the CPU as well, for tests
}

// Load brings the weights of a file onto a backend. The file must stay open until Free.
func Load(be *ggml.Backend, f *gguf.File, opts Options) (*Model, error) {
	c, err := ReadConfig(f)
	if err != nil {
		return nil, err
	}
	m := newModel(be, f, c, opts)
	if err := checkCache(be, m.Config, opts.Cache); err != nil {
		return nil, err
	}
	l := nn.NewLoader(be, f)
	l.Spare = opts.Spare
	if err := m.load(l, f); err != nil {
		l.Abandon()
		return nil, err
	}
	l.Ignore(speakerPrefix)
	if m.weights, err = l.Finish(); err != nil {
		return nil, err
	}
	return m, nil
}

// speakerPrefix is that of the speaker encoder's tensors, which loads its own.
const speakerPrefix = "spk_enc."

// Check tells all that Load would refuse in a file, and what it would take. With values it also reads all weights for
// wrong ones. It loads nothing.
func Check(f *gguf.File, values bool) (nn.Footprint, error) {
	c, err := ReadConfig(f)
	if err != nil {
		return nn.Footprint{}, err
	}
	l := nn.NewChecker(f)
	if err := newModel(nil, f, c, Options{}).load(l, f); err != nil {
		return nn.Footprint{}, err
	}
	l.Ignore(speakerPrefix)
	return l.Footprint(), gguf.AllOf(l.Problems(values))
}

// newModel is a model without its weights.
func newModel(be *ggml.Backend, f *gguf.File, c Config, opts Options) *Model {
	predictor, talker := cacheTypes(f, opts.Cache)
	c.attention(be, talker, predictor, opts)
	m := &Model{Config: c, be: be, cacheType: predictor, keyType: talker}
	c.Talker.ClampFP16, c.Predictor.ClampFP16 = opts.ClampFP16, opts.ClampFP16
	m.talker.Stack = Stack{Blocks: make([]Block, c.Talker.Layers), c: c.Talker}
	m.predictor.Stack = Stack{Blocks: make([]Block, c.Predictor.Layers), c: c.Predictor}
	m.predictor.CodecEmbd = make([]ggml.Tensor, c.Codebooks-1)
	m.predictor.Heads = make([]nn.Linear, c.Codebooks-1)
	return m
}

func (m *Model) load(l *nn.Loader, f *gguf.File) error {
	err := l.Load(&m.talker, "talker", m.Talker.dims(nn.Dims{
		"text": m.TextWidth, "text_vocab": m.TextVocab, "vocab": m.CodecVocab}))
	if err != nil {
		return err
	}
	// Where the widths are equal the projection is the identity and the file has none.
	mtp := 0
	if m.Talker.Width != m.Predictor.Width || f.Tensor("code_pred.mtp_proj.weight") != nil {
		mtp = 1
	}
	l.Pack = true  // a frame reads them once for each codebook
	l.Later = true // while prompts are computed
	return l.Load(&m.predictor, "code_pred", m.Predictor.dims(nn.Dims{
		"talker": m.Talker.Width, "codes": m.CodebookSize, "mtp": mtp}))
}

// cacheTypes are those of the CodePredictor's and of the Talker's cache. The CodePredictor's is small: it keeps full or
// half precision.
func cacheTypes(f *gguf.File, wanted *ggml.Type) (predictor, talker ggml.Type) {
	predictor = ggml.F16
	if t := f.Tensor("talker.blk.0.attn_k.weight"); t != nil && t.Type == gguf.F32 {
		predictor = ggml.F32
	}
	switch {
	case wanted == nil:
		return predictor, predictor
	case *wanted == gguf.Q8_0:
		return predictor, *wanted
	}
	return *wanted, *wanted
}

// ErrCache: keys and values cannot be kept in the type asked for.
var ErrCache = errors.New("kv_type")

// Bytes of the weights: used where they lie in the mapped file, and copied.
func (m *Model) Bytes() (inPlace, copied uint64) { return m.weights.Bytes() }

// Pending is about how many bytes of weights are still to be copied; see nn.Weights.
func (m *Model) Pending() uint64 { return m.weights.Pending() }

// Describe says what the projection between the models is.
func (m *Model) Describe() string {
	kind := "identity"
	if m.predictor.Proj.Valid() {
		kind = "linear"
	}
	return fmt.Sprintf("talker %d layers x %d, code predictor %d layers x %d, mtp_proj %s, cache %v, flash attention %s",
		m.Talker.Layers, m.Talker.Width, m.Predictor.Layers, m.Predictor.Width, kind, m.keyType, onOff(m.Talker.Flash && m.Predictor.Flash))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Free releases the weights.
func (m *Model) Free() { m.weights.Free() }

// Probe receives the intermediate results of a graph: rows of width values each, in order.
// Its name is that of the reference data.
type Probe func(name string, shape []int, values []float32)

// report hands the taps of a computed graph to probe, names prefixed.
func report(g *ggml.Graph, prefix string, probe Probe) {
	if probe == nil {
		return
	}
	for _, t := range g.Taps() {
		v := make([]float32, t.Elements())
		t.GetF32(v)
		shape := slices.DeleteFunc(t.Shape(), func(n int) bool { return n == 1 }) // see nn.Few
		probe(prefix+t.Name, shape, v)
	}
}
