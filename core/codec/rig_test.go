package codec

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rig is the content of a GGUF file, to be changed and written again.
type rig struct {
	keys    []string
	values  map[string]any
	tensors []*rigTensor
}

type rigTensor struct {
	gguf.TensorInfo
	data []byte
}

// newRig takes in the tiny speech tokenizer.
func newRig(t *testing.T) *rig {
	t.Helper()
	f, err := gguf.Open(golden.GGUF(t, "tiny-tokenizer-12hz", "F32"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() }) // values refer to it
	r := &rig{keys: f.Keys(), values: map[string]any{}}
	for _, key := range r.keys {
		r.values[key], _ = f.Value(key)
	}
	for _, info := range f.Tensors() {
		r.tensors = append(r.tensors, &rigTensor{info, slices.Clone(f.Data(&info))})
	}
	return r
}

func (r *rig) set(key string, value any) {
	key = Architecture + "." + key
	if _, ok := r.values[key]; !ok {
		r.keys = append(r.keys, key)
	}
	r.values[key] = value
}

func (r *rig) unset(key string) { delete(r.values, Architecture+"."+key) }

func (r *rig) tensor(name string) *rigTensor {
	for _, t := range r.tensors {
		if t.Name == name {
			return t
		}
	}
	panic(name)
}

// drop removes the tensors whose names start with prefix.
func (r *rig) drop(prefix string) {
	r.tensors = slices.DeleteFunc(r.tensors, func(t *rigTensor) bool { return strings.HasPrefix(t.Name, prefix) })
}

func (r *rig) add(name string, values []float32, shape ...int64) {
	data := make([]byte, 4*len(values))
	half.EncodeF32(data, values)
	r.tensors = append(r.tensors, &rigTensor{gguf.TensorInfo{Name: name, Type: gguf.F32, Shape: shape}, data})
}

func (r *rig) write(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "codec.gguf")
	w, err := gguf.NewWriter(path)
	require.NoError(t, err)
	defer w.Abort()
	for _, key := range r.keys {
		if v, ok := r.values[key]; ok {
			require.NoError(t, w.Add(key, v))
		}
	}
	for _, x := range r.tensors {
		require.NoError(t, w.Declare(x.TensorInfo))
	}
	for _, x := range r.tensors {
		require.NoError(t, w.Write(x.Name, x.data))
	}
	require.NoError(t, w.Close())
	return path
}

func (r *rig) load(t *testing.T) (*Decoder, error) {
	t.Helper()
	return load(t, r.write(t), 1)
}

func (x *rigTensor) put(i int, v float32) {
	binary.LittleEndian.PutUint32(x.data[4*i:], math.Float32bits(v))
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*rig)
		want  string
	}{
		"a talker": {
			func(r *rig) { r.values["general.architecture"] = "qwen3-tts" },
			`codec: general.architecture is "qwen3-tts", want "qwen3-tts-tokenizer": this file is not a speech tokenizer`,
		},
		"no architecture": {
			func(r *rig) { delete(r.values, "general.architecture") },
			"codec: metadata general.architecture: missing",
		},
		"key missing": {
			func(r *rig) { r.unset("decoder.num_hidden_layers") },
			"codec: metadata qwen3-tts-tokenizer.decoder.num_hidden_layers: missing",
		},
		"key of another type": {
			func(r *rig) { r.set("decoder.sliding_window", "wide") },
			"codec: metadata qwen3-tts-tokenizer.decoder.sliding_window: an integer expected, but it is",
		},
		"huge count": {
			func(r *rig) { r.set("decoder.num_hidden_layers", uint32(1<<31)) },
			"codec: metadata qwen3-tts-tokenizer.decoder.num_hidden_layers: 2147483648 is not within 1..1024",
		},
		"huge window": {
			func(r *rig) { r.set("decoder.sliding_window", uint32(5000)) },
			"codec: metadata qwen3-tts-tokenizer.decoder.sliding_window: 5000 is not within 1..4096",
		},
		"negative": {
			func(r *rig) { r.set("decoder.hidden_size", int32(-64)) },
			"codec: metadata qwen3-tts-tokenizer.decoder.hidden_size: -64 is not within 1..1048576",
		},
		"base zero": {
			func(r *rig) { r.set("decoder.rope_theta", float32(0)) },
			"codec: metadata qwen3-tts-tokenizer.decoder.rope_theta: 0 is not positive",
		},
		"heads": {
			func(r *rig) { r.set("decoder.num_key_value_heads", uint32(3)) },
			"codec: metadata qwen3-tts-tokenizer.decoder.*: attention heads 2, key-value heads 3, head_dim 64 do not fit together",
		},
		"all semantic": {
			func(r *rig) { r.set("decoder.num_semantic_quantizers", uint32(16)) },
			"codec: metadata qwen3-tts-tokenizer.decoder.num_semantic_quantizers: 16 of 16 quantizers",
		},
		"another rate": {
			func(r *rig) { r.set("output_sample_rate", uint32(16000)) },
			"codec: metadata qwen3-tts-tokenizer.output_sample_rate: 16000 is not 24000",
		},
		"hop": {
			func(r *rig) { r.set("decode_upsample_rate", uint32(960)) },
			"codec: decode_upsample_rate is 960, but upsampling by [2 2] and DAC strides [8 5 4 3] make 1920",
		},
		"ratio": {
			func(r *rig) { r.set("decoder.upsampling_ratios", []int32{2, 0}) },
			"codec: metadata qwen3-tts-tokenizer.decoder.upsampling_ratios[1]: 0 is not within 1..65536",
		},
		"endless ratios": {
			func(r *rig) { r.set("decoder.upsampling_ratios", make([]int32, 1000)) },
			"codec: metadata qwen3-tts-tokenizer.decoder.upsampling_ratios: 1000 stages",
		},
		"odd channels": {
			func(r *rig) { r.set("decoder.decoder_dim", uint32(120)) },
			"codec: DAC chain: 120 channels cannot be halved in 4 blocks",
		},
		"layer too many": {
			func(r *rig) { r.set("decoder.num_hidden_layers", uint32(3)) },
			"codec: tok_dec.pre_tfm.blk.2.attn_norm.weight: missing",
		},
		"layer too few": {
			func(r *rig) { r.set("decoder.num_hidden_layers", uint32(1)) },
			"codec: tok_dec.pre_tfm.blk.1.", // surplus
		},
		"surplus": {
			func(r *rig) { r.add("tok_dec.extra.weight", []float32{1, 2}, 2) },
			"codec: tok_dec.extra.weight: surplus",
		},
		"snake beyond float32": {
			func(r *rig) { r.tensor("tok_dec.dec.2.res.1.act2.alpha").put(3, 90) },
			"codec: tok_dec.dec.2.res.1.act2.alpha: element 3 is 90: its exponential is too large",
		},
		"integers": {
			func(r *rig) { r.tensor("tok_dec.pre_tfm.blk.0.attn_q.weight").Type = gguf.I32 },
			"codec: tok_dec.pre_tfm.blk.0.attn_q.weight: type I32",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.spoil(r)
			_, err := r.load(t)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
}

// TestEveryTensorIsChecked: whichever tensor is missing, misshapen, not finite or empty, the error names it.
func TestEveryTensorIsChecked(t *testing.T) {
	r := newRig(t)
	r.drop("tok_enc.")
	original, err := os.ReadFile(r.write(t))
	require.NoError(t, err)
	aligned := make([]byte, len(original)+os.Getpagesize())
	aligned = aligned[-uintptr(unsafe.Pointer(&aligned[0]))&uintptr(os.Getpagesize()-1):][:len(original)]
	be := testenv.CPU(t, 1)

	for _, x := range r.tensors {
		entry := bytes.Index(original, []byte(x.Name)) + len(x.Name) // its description: count and sizes of the dimensions
		refused := func(want string, spoil func(file []byte)) {
			copy(aligned, original)
			spoil(aligned)
			f, err := gguf.Parse(aligned)
			require.NoError(t, err)
			cfg, err := ReadConfig(f)
			if err == nil {
				_, err = LoadDecoder(be, f, cfg)
			}
			require.Error(t, err, "%s: %s", x.Name, want)
			assert.Contains(t, err.Error(), "codec: "+x.Name+": "+want)
		}
		refused("missing", func(file []byte) { file[entry-1] = '_' })
		if last := len(x.Shape) - 1; x.Shape[last] > 1 {
			refused("shape ", func(file []byte) { binary.LittleEndian.PutUint64(file[entry+4+8*last:], uint64(x.Shape[last]-1)) })
		}
		place := len(original) - len(x.data) - r.behind(x)
		refused("", func(file []byte) { copy(file[place:], []byte{0, 0, 0xc0, 0x7f}) }) // not a number
		if len(x.Shape) > 1 && x.Shape[1] > 1 {
			refused("all zero", func(file []byte) { clear(file[place:][:len(x.data)]) })
		}
	}
}

// behind is how many bytes come after a tensor's own.
func (r *rig) behind(x *rigTensor) (n int) {
	const alignment = 32
	n = -len(x.data) & (alignment - 1)
	for _, y := range r.tensors[slices.Index(r.tensors, x)+1:] {
		n += (len(y.data) + alignment - 1) &^ (alignment - 1)
	}
	return n
}

func TestSamplesThatCannotBeSpeech(t *testing.T) {
	decode := func(tensor string, value float32) error {
		r := newRig(t)
		w := r.tensor(tensor)
		for i := range len(w.data) / 4 {
			w.put(i, value)
		}
		d, err := r.load(t)
		require.NoError(t, err)
		return newStream(t, d, 0).Decode(randomCodes(d, 5, 1), make([]float32, 5*d.Hop()))
	}
	assert.EqualError(t, decode("tok_dec.dec.0.conv.weight", math.MaxFloat32), "codec: samples of frame 0 are not finite")
	assert.EqualError(t, decode("tok_dec.dec.6.conv.bias", -3e3), "codec: samples of frame 0 go up to -3e+03, full scale is 1")
	assert.NoError(t, decode("tok_dec.dec.6.conv.bias", 500), "only loud")
}

// TestFewerKeys: what other writers leave out of the metadata is found in the tensors.
func TestFewerKeys(t *testing.T) {
	r := newRig(t)
	for _, key := range []string{"codebook_dim_internal", "codebook_dim", "vector_quantization_hidden_dim", "decoder_dim", "upsample_rates", "rms_norm_eps"} {
		r.unset("decoder." + key)
	}
	d, err := r.load(t)
	require.NoError(t, err)
	assert.Equal(t, tiny(t, 1, "F32").Config(), d.Config())

	r.drop("tok_dec.dec.3.conv_t.weight")
	_, err = r.load(t)
	assert.EqualError(t, err, "codec: tok_dec.dec.3.conv_t.weight: missing")
	r.add("tok_dec.dec.3.conv_t.weight", make([]float32, 7*16*32), 7, 16, 32)
	_, err = r.load(t)
	assert.EqualError(t, err, "codec: tok_dec.dec.3.conv_t.weight: a kernel of 7 is not twice a stride")
}

// TestClosing: files, decoders and streams come and go.
func TestClosing(t *testing.T) {
	d := tiny(t, 1, "F32")
	for range 3 {
		s, err := d.NewTappedStream(0)
		require.NoError(t, err)
		require.NoError(t, s.Prime(randomCodes(d, 30, 1)))
		assert.Greater(t, s.Bytes(), uint64(1<<20))
		s.Close()
		s.Close()
	}
}
