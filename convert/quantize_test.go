package convert_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/convert"
	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// quantize makes a file of the type of a source.
func quantize(t *testing.T, src string, o convert.QuantizeOptions) string {
	t.Helper()
	f, err := gguf.Open(src)
	require.NoError(t, err)
	defer f.Close()
	plan, err := convert.NewPlan(f, o)
	require.NoError(t, err)
	dst := filepath.Join(t.TempDir(), plan.Type()+".gguf")
	require.NoError(t, plan.Write(context.Background(), convert.WriteOptions{Dst: dst, Threads: 2, GGMLDir: testenv.GGMLDir(t)}))
	return dst
}

func open(t *testing.T, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// TestEveryTypeSpeaks makes files of every type, of a talker and of a codec, and speaks with them. What they speak
// comes closer to the source the wider the type is.
func TestEveryTypeSpeaks(t *testing.T) {
	const name = "tiny-customvoice-17"
	talker, codec := golden.GGUF(t, name, "F32"), golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	for _, typ := range convert.Recipes()[1:] {
		t.Run(typ, func(t *testing.T) {
			made := [2]string{quantize(t, talker, convert.QuantizeOptions{Type: typ}), quantize(t, codec, convert.QuantizeOptions{Type: typ})}
			e, err := core.Open(core.Options{TalkerPath: made[0], CodecPath: made[1], Threads: 1, GGMLDir: testenv.GGMLDir(t)})
			require.NoError(t, err)
			defer e.Close()
			r := e.DefaultRequest()
			r.Text, r.Speaker, r.MaxFrames, r.Seed = "Good morning!", e.Speakers()[0], 3, 1
			loud := false
			res, err := e.Synthesize(context.Background(), &r, func(pcm []float32) error {
				for _, x := range pcm {
					loud = loud || math.Abs(float64(x)) > .01
				}
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, 3, res.Frames)
			assert.True(t, loud)

			// A voice can be made with the codec, too: its encoder reads the same types.
			c, err := core.OpenCodec(core.Options{CodecPath: made[1], Threads: 1, GGMLDir: testenv.GGMLDir(t)})
			require.NoError(t, err)
			defer c.Close()
			codes, err := c.Encode(context.Background(), sine(2*c.Hop()))
			require.NoError(t, err)
			assert.Len(t, codes, 2)
		})
	}
}

func sine(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(.5 * math.Sin(float64(i)/10))
	}
	return x
}

// TestQuantizedValues: values come back within what the type's bits allow, and the metadata says what the file is.
func TestQuantizedValues(t *testing.T) {
	require.NoError(t, ggml.Load(testenv.GGMLDir(t)))
	src := open(t, golden.GGUF(t, "tiny-base-17", "F32"))
	worst := map[string]float64{"BF16": .003, "F16": .0004, "Q8_0": .01, "Q6_K": .03, "Q5_K_M": .06, "Q4_K_M": .12, "Q4_0": .12, "Q3_K_M": .25, "Q2_K": .5}
	files := map[string]uint32{"BF16": 32, "F16": 1, "Q8_0": 7, "Q6_K": 18, "Q5_K_M": 17, "Q4_K_M": 15, "Q4_0": 2, "Q3_K_M": 12, "Q2_K": 10}
	for typ, most := range worst {
		f := open(t, quantize(t, golden.GGUF(t, "tiny-base-17", "F32"), convert.QuantizeOptions{Type: typ}))
		require.Len(t, f.Tensors(), len(src.Tensors()))
		for i := range f.Tensors() {
			info := &f.Tensors()[i]
			want, got := src.Tensor(info.Name), make([]float32, info.Elements())
			require.NotNil(t, want)
			require.Equal(t, want.Shape, info.Shape)
			require.NoError(t, f.CheckFinite(info))
			require.NoError(t, ggml.Dequantize(info.Type, got, f.Data(info)))
			require.LessOrEqual(t, noise(floats(t, src, info.Name), got), most, "%s %s %v", typ, info.Name, info.Type)
		}
		n, err := f.Uint32("general.file_type")
		require.NoError(t, err)
		assert.Equal(t, files[typ], n)
		assert.Equal(t, typ[0] == 'Q', f.Has("general.quantization_version"))
		names, err := f.Strings("tokenizer.ggml.merges")
		require.NoError(t, err)
		want, _ := src.Strings("tokenizer.ggml.merges")
		assert.Equal(t, want, names)
	}
}

// noise is the root of the mean squared error, relative to the values'.
func noise(want, got []float32) float64 {
	var n, s float64
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		n += d * d
		s += float64(want[i]) * float64(want[i])
	}
	if n == 0 {
		return 0
	}
	return math.Sqrt(n / s)
}

// TestQuantizeEqualsConvert: both commands make the same file of a type that both know.
func TestQuantizeEqualsConvert(t *testing.T) {
	for _, model := range []string{"tiny-base-06", "tiny-tokenizer-12hz"} {
		for _, typ := range []string{"F16", "BF16", "Q8_0"} {
			converted := open(t, golden.GGUF(t, model, typ))
			made := open(t, quantize(t, golden.GGUF(t, model, "F32"), convert.QuantizeOptions{Type: typ}))
			for i := range converted.Tensors() {
				want := &converted.Tensors()[i]
				got := made.Tensor(want.Name)
				require.Equal(t, want.Type, got.Type, want.Name)
				require.True(t, bytes.Equal(converted.Data(want), made.Data(got)), "%s %s %v", model, want.Name, want.Type)
			}
		}
	}
}

// TestThreadsDoNotChangeTheFile, and neither does the division into pieces.
func TestThreadsDoNotChangeTheFile(t *testing.T) {
	f := open(t, golden.GGUF(t, "tiny-customvoice-17", "F32"))
	plan, err := convert.NewPlan(f, convert.QuantizeOptions{Type: "Q4_K_M"})
	require.NoError(t, err)
	var files [2][]byte
	for i, threads := range []int{1, 3} {
		dst := filepath.Join(t.TempDir(), "x.gguf")
		require.NoError(t, plan.Write(context.Background(), convert.WriteOptions{Dst: dst, Threads: threads, GGMLDir: testenv.GGMLDir(t)}))
		files[i], err = os.ReadFile(dst)
		require.NoError(t, err)
	}
	assert.True(t, bytes.Equal(files[0], files[1]))
}

// TestPolicy: the types by role, for the published geometry and for rows that make no blocks of 256.
func TestPolicy(t *testing.T) {
	f := open(t, golden.GGUF(t, "tiny-base-17", "F32"))
	for typ, want := range map[string]map[string]gguf.Type{
		"Q4_K_M": {
			"talker.text_embd.weight": gguf.Q6_K, "talker.codec_head.weight": gguf.Q6_K, "talker.text_proj.fc1.weight": gguf.Q6_K,
			"talker.blk.0.attn_q.weight": gguf.Q4_K, "talker.blk.0.attn_v.weight": gguf.Q4_K, "talker.blk.2.attn_v.weight": gguf.Q6_K,
			"talker.blk.2.ffn_down.weight": gguf.Q6_K, "talker.blk.0.attn_norm.weight": gguf.F32, "code_pred.codec_embd.3.weight": gguf.Q6_K,
			"code_pred.blk.0.attn_q.weight": gguf.Q5_0, "code_pred.blk.0.attn_output.weight": gguf.Q4_K, "code_pred.lm_head.0.weight": gguf.Q8_0,
			"spk_enc.mfa.weight": gguf.F32, "spk_enc.fc.weight": gguf.F32, "code_pred.mtp_proj.bias": gguf.F32,
		},
		"Q2_K":   {"talker.blk.0.attn_q.weight": gguf.Q2_K, "talker.blk.0.ffn_down.weight": gguf.Q3_K, "code_pred.blk.0.attn_q.weight": gguf.Q4_0},
		"Q5_K_S": {"talker.blk.2.attn_v.weight": gguf.Q5_K, "code_pred.blk.0.attn_q.weight": gguf.Q5_1},
	} {
		plan, err := convert.NewPlan(f, convert.QuantizeOptions{Type: typ})
		require.NoError(t, err)
		for _, s := range plan.Steps {
			if w, ok := want[s.Name]; ok {
				assert.Equal(t, w, s.To, "%s %s: %s", typ, s.Name, s.Reason)
			}
			assert.NotEmpty(t, s.Reason)
		}
	}
}

// TestOverrides come before the policy, the first that fits counts, and what they ask for is done.
func TestOverrides(t *testing.T) {
	parse := func(s string) convert.Override {
		o, err := convert.ParseOverride(s)
		require.NoError(t, err)
		return o
	}
	path := quantize(t, golden.GGUF(t, "tiny-customvoice-17", "F32"), convert.QuantizeOptions{Type: "Q8_0", Overrides: []convert.Override{
		parse("talker.blk.1.ffn_up.weight=q2_k"), parse("talker.blk.*.ffn_up.weight=IQ4_XS"), parse("*.attn_norm.weight=BF16")}})
	f := open(t, path)
	for name, want := range map[string]gguf.Type{
		"talker.blk.0.ffn_up.weight": gguf.IQ4_XS, "talker.blk.1.ffn_up.weight": gguf.Q2_K, "talker.blk.0.ffn_gate.weight": gguf.Q8_0,
		"talker.blk.0.attn_norm.weight": gguf.BF16,
	} {
		assert.Equal(t, want, f.Tensor(name).Type, name)
	}
	for s, want := range map[string]string{
		"x":         `"x" is not PATTERN=TYPE`,
		"=Q8_0":     "is not PATTERN=TYPE",
		"a[=Q8_0":   `"a[" is not a pattern`,
		"a=Q9":      "Q9 is not a type that weights can be written as",
		"a=IQ2_XXS": "IQ2_XXS is not a type that weights can be written as",
		"a=I32":     "I32 is not a type",
	} {
		_, err := convert.ParseOverride(s)
		assert.ErrorIs(t, err, convert.ErrRequest)
		assert.ErrorContains(t, err, want)
	}
}

// TestPlanRefuses what makes no sense.
func TestPlanRefuses(t *testing.T) {
	exact, blocks := golden.GGUF(t, "tiny-customvoice-17", "F32"), golden.GGUF(t, "tiny-customvoice-17", "Q8_0")
	foreign := golden.Rigged(t, exact, golden.Rig{Set: map[string]any{"general.architecture": "llama"}})
	for _, c := range []struct {
		src  string
		o    convert.QuantizeOptions
		kind error
		want string
	}{
		{exact, convert.QuantizeOptions{Type: "Q9"}, convert.ErrRequest, "type Q9 is not one of F32, BF16, F16, Q8_0, Q6_K"},
		{exact, convert.QuantizeOptions{}, convert.ErrRequest, "is not one of"},
		{exact, convert.QuantizeOptions{Type: "F32"}, convert.ErrRequest, "every tensor has the type"},
		{blocks, convert.QuantizeOptions{Type: "Q8_0"}, convert.ErrRequest, "every tensor has the type"},
		{blocks, convert.QuantizeOptions{Type: "Q6_K"}, convert.ErrRequest, "talker.text_embd.weight is Q8_0 already"},
		{exact, convert.QuantizeOptions{Type: "Q8_0", Overrides: []convert.Override{{Pattern: "nothing*", Type: gguf.Q8_0}}}, convert.ErrRequest, "no tensor has a name like nothing*"},
		{exact, convert.QuantizeOptions{Type: "Q8_0", Overrides: []convert.Override{{Pattern: "*norm.weight", Type: gguf.Q8_0}}}, convert.ErrRequest, "must not be in blocks"},
		{foreign, convert.QuantizeOptions{Type: "Q8_0"}, convert.ErrInput, `"llama" is not a file of this engine`},
	} {
		_, err := convert.NewPlan(open(t, c.src), c.o)
		assert.ErrorIs(t, err, c.kind, "%v", err)
		assert.ErrorContains(t, err, c.want)
	}
	// Asked for expressly, it is done: narrower blocks of blocks; what would become wider stays.
	f := open(t, quantize(t, blocks, convert.QuantizeOptions{Type: "Q4_K_S", Requantize: true}))
	assert.Equal(t, gguf.Q4_K, f.Tensor("talker.blk.0.attn_q.weight").Type)
	f = open(t, quantize(t, blocks, convert.QuantizeOptions{Type: "F32", Requantize: true}))
	assert.Equal(t, gguf.F32, f.Tensor("talker.blk.0.attn_q.weight").Type)
}

// TestValuesThatDoNotFit end in an error that names the tensor and the value, and leave no file.
func TestValuesThatDoNotFit(t *testing.T) {
	for typ, c := range map[string]struct {
		value float32
		want  string
	}{
		"Q4_K_M": {float32(math.NaN()), "talker.blk.0.attn_q.weight: element 3 is NaN, which Q4_K cannot hold"},
		"F16":    {1e6, "talker.blk.0.attn_q.weight: element 3 is 1e+06, which F16 cannot hold"},
		"Q4_0":   {1e30, "talker.blk.0.attn_q.weight: the values from element 0 on are too large for Q4_0"},
	} {
		src := golden.Rigged(t, golden.GGUF(t, "tiny-customvoice-17", "F32"), golden.Rig{Tensor: func(ti *gguf.TensorInfo, data []byte) bool {
			if ti.Name == "talker.blk.0.attn_q.weight" {
				bits := math.Float32bits(c.value)
				copy(data[12:], []byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
			}
			return true
		}})
		plan, err := convert.NewPlan(open(t, src), convert.QuantizeOptions{Type: typ})
		require.NoError(t, err)
		dir := t.TempDir()
		err = plan.Write(context.Background(), convert.WriteOptions{Dst: filepath.Join(dir, "x.gguf"), GGMLDir: testenv.GGMLDir(t)})
		assert.ErrorIs(t, err, convert.ErrInput)
		assert.ErrorContains(t, err, c.want)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}
