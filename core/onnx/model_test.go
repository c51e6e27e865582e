package onnx

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// A model is written as ONNX's protocol buffers have it: fields of numbers and of bytes.

func number(field, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, field<<3), v)
}

func message(field uint64, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, field<<3|2), uint64(len(body))), body...)
}

func text(field uint64, s string) []byte { return message(field, []byte(s)) }

// value is a ValueInfoProto: a tensor of a type and a shape, in which 0 is any.
func value(field uint64, name string, typ uint64, shape ...int) []byte {
	var dims [][]byte
	for i, d := range shape {
		if d == 0 {
			dims = append(dims, message(1, text(2, name+string(rune('a'+i)))))
		} else {
			dims = append(dims, message(1, number(1, uint64(d))))
		}
	}
	return message(field, text(1, name), message(2, message(1, number(1, typ), message(2, dims...))))
}

func input(name string, typ uint64, shape ...int) []byte  { return value(11, name, typ, shape...) }
func output(name string, typ uint64, shape ...int) []byte { return value(12, name, typ, shape...) }

// node is a NodeProto.
func node(op string, in []string, out string, attributes ...[]byte) []byte {
	var parts [][]byte
	for _, name := range in {
		parts = append(parts, text(1, name))
	}
	return message(1, append(append(parts, text(2, out), text(4, op)), attributes...)...)
}

// toFloat is Cast's attribute.
var toFloat = message(5, text(1, "to"), number(3, typeFloat32), number(20, 2))

func ints(name string, v ...uint64) []byte {
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, x)
	}
	return message(5, number(1, uint64(len(v))), number(2, typeInt64), text(8, name), message(9, raw))
}

func scalar(name string, v float32) []byte {
	return message(5, number(1, 1), number(2, typeFloat32), text(8, name), message(9, binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))))
}

func property(key, v string) []byte { return message(14, text(1, key), text(2, v)) }

// graph is a GraphProto.
func graph(parts ...[]byte) []byte { return message(7, append([][]byte{text(2, "g")}, parts...)...) }

// modelOf is a ModelProto.
func modelOf(parts ...[]byte) []byte {
	return bytes.Join(append([][]byte{number(1, 8), message(8, text(1, ""), number(2, 17))}, parts...), nil)
}

// echo is a vocoder whose samples are its codes times a factor plus a term; a frame of 16 codes has 16 samples.
func echo(factor, term float32, more ...[]byte) []byte {
	return modelOf(append([][]byte{graph(
		node("Cast", []string{"audio_codes"}, "f", toFloat), node("Mul", []string{"f", "factor"}, "m"), node("Add", []string{"m", "term"}, "s"),
		node("Reshape", []string{"s", "flat"}, "audio_values"), scalar("factor", factor), scalar("term", term), ints("flat", 1, math.MaxUint64),
		input("audio_codes", typeInt64, 1, 0, 16), output("audio_values", typeFloat32, 1, 0))}, more...)...)
}

func tryOpen(t *testing.T, data []byte) (*Decoder, error) {
	t.Helper()
	testenv.ONNXRuntime(t)
	path := filepath.Join(t.TempDir(), "vocoder.onnx")
	require.NoError(t, os.WriteFile(path, data, 0o666))
	d, err := Open(path, Options{Provider: "cpu", Threads: 1})
	if err == nil {
		t.Cleanup(d.Free)
	} else {
		assert.ErrorContains(t, err, path, "the file is named")
		assert.Nil(t, d)
	}
	return d, err
}

func TestASmallVocoder(t *testing.T) {
	d, err := tryOpen(t, echo(1./2048, 0, property("num_quantizers", "16"), property("decode_upsample_rate", "16"), property("output_sample_rate_hz", "24000")))
	require.NoError(t, err)
	assert.Equal(t, []int{16, 2048, 16}, []int{d.Codebooks(), d.CodebookSize(), d.Hop()})
	codes := randomCodes(d, 5, 1)
	pcm := decode(t, newStream(t, d, 2, 3), codes, 5)
	for i, v := range pcm {
		require.Equal(t, float32(codes[i/16][i%16])/2048, v)
	}
}

// TestSamplesThatCannotBeSpeech are failures, and what is too loud is limited.
func TestSamplesThatCannotBeSpeech(t *testing.T) {
	decodeBy := func(factor, term float32) ([]float32, error) {
		d, err := tryOpen(t, echo(factor, term))
		require.NoError(t, err)
		pcm := make([]float32, 4*16)
		return pcm, newStream(t, d, 4, 0).Decode(randomCodes(d, 4, 1), pcm)
	}
	_, err := decodeBy(float32(math.NaN()), 0)
	assert.ErrorContains(t, err, "samples of frame 0 are not finite")
	_, err = decodeBy(1, 2000)
	assert.ErrorContains(t, err, "samples of frame 0 go up to")
	pcm, err := decodeBy(0, -500)
	require.NoError(t, err, "only loud")
	assert.Equal(t, float32(-1), pcm[3])
}

// TestWrongModels: each is refused with an error that names what is wrong.
func TestWrongModels(t *testing.T) {
	cast := node("Cast", []string{"audio_codes"}, "audio_values", toFloat)
	codes, samples := input("audio_codes", typeInt64, 1, 0, 16), output("audio_values", typeFloat32, 1, 0, 16)
	state := func(in, out []byte) []byte {
		return modelOf(graph(cast, node("Identity", []string{"past.x"}, "present.x"), codes, in, samples, out))
	}
	for name, c := range map[string]struct {
		model []byte
		want  string
	}{
		"two inputs": {modelOf(graph(cast, codes, input("more", typeInt64, 1), samples)), "2 inputs (audio_codes int64 [1, ?, 16], more int64 [1]) besides past.*, want one"},
		"floats":     {modelOf(graph(node("Identity", []string{"audio_codes"}, "audio_values"), input("audio_codes", typeFloat32, 1, 0, 16), samples)), "input audio_codes is float32 [1, ?, 16], want int64 [batch, frames, codebooks]: this is no vocoder"},
		"flat":       {modelOf(graph(cast, input("audio_codes", typeInt64, 0, 16), output("audio_values", typeFloat32, 0, 16))), "input audio_codes is int64 [?, 16], want"},
		"batch":      {modelOf(graph(cast, input("audio_codes", typeInt64, 4, 0, 16), output("audio_values", typeFloat32, 4, 0, 16))), "the batch must be 1, or any"},
		"fixed":      {modelOf(graph(cast, input("audio_codes", typeInt64, 1, 64, 16), output("audio_values", typeFloat32, 1, 64, 16))), "it takes 64 frames only"},
		"no samples": {modelOf(graph(node("Identity", []string{"audio_codes"}, "out"), codes, output("out", typeInt64, 1, 0, 16))), "0 outputs of samples (out int64 [1, ?, 16]), want one, audio_values"},
		"not flat":   {modelOf(graph(cast, codes, samples)), "output audio_values: shape [1 3 16], want [1, samples]"},
		"no codes":   {modelOf(graph(cast, input("audio_codes", typeInt64, 1, 0, 0), output("audio_values", typeFloat32, 1, 0, 0))), "metadata num_quantizers is missing"},
		"constant": {modelOf(graph(node("Identity", []string{"c"}, "audio_values"), node("Identity", []string{"audio_codes"}, "unused"), scalar("c", 1),
			codes, output("audio_values", typeFloat32, 1), output("unused", typeInt64, 1, 0, 16))), "one frame gives 1 samples, three give 1"},

		"state without present": {modelOf(graph(cast, codes, input("past.x", typeFloat32, 1, 4), samples)), "input past.x: there is no output present.x"},
		"state of other type": {modelOf(graph(cast, node("Cast", []string{"past.x"}, "present.x", toFloat), codes, input("past.x", typeInt64, 1, 4), samples, output("present.x", typeFloat32, 1, 4))),
			"output present.x is float32 [1, 4], input past.x is int64 [1, 4]: they must be alike"},
		"growing state": {state(input("past.x", typeFloat32, 1, 0), output("present.x", typeFloat32, 1, 0)), "input past.x is float32 [1, ?]: a state must have a fixed shape"},
		"huge state":    {state(input("past.x", typeFloat32, 1<<20, 1<<20), output("present.x", typeFloat32, 1<<20, 1<<20)), "a state must have a fixed shape"},
		"large states":  {state(input("past.x", typeFloat32, 1<<29), output("present.x", typeFloat32, 1<<29)), "the states take more than 1024 MiB"},
		"state of bool": {state(input("past.x", 9, 1, 4), output("present.x", 9, 1, 4)), "input past.x is bool [1, 4]: a state must be float32 or int64"},

		"quantizers":    {echo(1, 0, property("num_quantizers", "0")), `metadata num_quantizers: "0" is not within 1..1024`},
		"other count":   {echo(1, 0, property("num_quantizers", "8")), "metadata num_quantizers: 8, but input audio_codes is int64 [1, ?, 16]"},
		"no number":     {echo(1, 0, property("codebook_size", "many")), `metadata codebook_size: "many" is not within`},
		"rate":          {echo(1, 0, property("output_sample_rate_hz", "16000")), "metadata output_sample_rate_hz: 16000 is not 24000"},
		"hop":           {echo(1, 0, property("decode_upsample_rate", "1920")), "metadata decode_upsample_rate: 1920, but a frame gives 16 samples"},
		"unknown op":    {modelOf(graph(node("Sing", []string{"audio_codes"}, "audio_values"), codes, samples)), "Sing"},
		"future opset":  {bytes.Join([][]byte{number(1, 8), message(8, text(1, ""), number(2, 999)), graph(cast, codes, samples)}, nil), "opset"},
		"no graph":      {modelOf(), ""},
		"GGUF":          {[]byte("GGUF\x03\x00\x00\x00\x00\x00"), `this is no ONNX model (it starts with "GGUF\x03\x00\x00\x00")`},
		"empty":         {nil, "this is no ONNX model"},
		"outside codes": {modelOf(graph(node("Gather", []string{"table", "audio_codes"}, "g"), node("Reshape", []string{"g", "flat"}, "audio_values"), scalar("table", 1), ints("flat", 1, math.MaxUint64), codes, output("audio_values", typeFloat32, 1, 0))), ""},
	} {
		d, err := tryOpen(t, c.model)
		if name == "outside codes" { // with code 0 it works; others are outside of its table
			require.NoError(t, err)
			err = newStream(t, d, 1, 0).Decode(randomCodes(d, 1, 1), make([]float32, 16))
			assert.ErrorContains(t, err, "vocoder: ", name)
			continue
		}
		assert.ErrorContains(t, err, c.want, name)
	}
}

// TestDamagedModels: cut off anywhere, or with bytes changed, a model is refused, or decodes, or fails to.
func TestDamagedModels(t *testing.T) {
	whole, err := os.ReadFile(golden.ONNX(t, stateful))
	require.NoError(t, err)
	testenv.ONNXRuntime(t)
	dir := t.TempDir()
	weights, err := os.ReadFile(filepath.Join(golden.Checkpoints(t), "tiny-tokenizer-12hz", "model.safetensors"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), weights, 0o666))
	refused := 0
	try := func(data []byte) {
		path := filepath.Join(dir, "vocoder.onnx")
		require.NoError(t, os.WriteFile(path, data, 0o666))
		d, err := Open(path, Options{Provider: "cpu", Threads: 1})
		if err != nil {
			refused++
			return
		}
		defer d.Free()
		s, err := d.NewStream(2)
		require.NoError(t, err)
		defer s.Close()
		_ = s.Decode(randomCodes(d, 3, 1), make([]float32, 3*d.Hop()))
	}
	try(whole)
	require.Zero(t, refused, "what is whole")
	r := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		try(whole[:r.IntN(len(whole))])
	}
	assert.Equal(t, 12, refused, "what is cut off")
	for range 60 {
		data := bytes.Clone(whole)
		data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		try(data)
	}
	t.Logf("of 60 with a bit changed, %d were refused", refused-12)
	require.NoError(t, os.Truncate(filepath.Join(dir, "model.safetensors"), 1000))
	refused = 0
	try(whole)
	assert.Equal(t, 1, refused, "weights that are cut off")
	require.NoError(t, os.Remove(filepath.Join(dir, "model.safetensors")))
	try(whole)
	assert.Equal(t, 2, refused, "no weights")
}
