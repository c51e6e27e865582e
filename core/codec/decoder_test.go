package codec

import (
	"path"
	"slices"
	"testing"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tiny is the decoder of the tiny speech tokenizer.
func tiny(t testing.TB, threads int, typ string) *Decoder {
	t.Helper()
	d, err := open(t, golden.GGUF(t, "tiny-tokenizer-12hz", typ), threads)
	require.NoError(t, err)
	return d
}

// open loads the decoder of a file until the test ends.
func open(t testing.TB, file string, threads int) (*Decoder, error) {
	t.Helper()
	f, err := gguf.Open(file)
	require.NoError(t, err)
	be := testenv.CPU(t, threads) // is closed after what is registered below
	t.Cleanup(func() { f.Close() })
	cfg, err := ReadConfig(f)
	if err != nil {
		return nil, err
	}
	d, err := LoadDecoder(be, f, cfg)
	if err == nil {
		t.Cleanup(d.Close)
	}
	return d, err
}

func stream(t testing.TB, d *Decoder, width int) *Stream {
	t.Helper()
	s, err := d.NewStream(width)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// decode decodes the codes in chunks of some frames.
func decode(t testing.TB, s *Stream, codes [][]int32, chunk int) []float32 {
	t.Helper()
	var pcm []float32
	for c := range slices.Chunk(codes, chunk) {
		out := make([]float32, len(c)*s.d.Hop())
		require.NoError(t, s.Decode(c, out))
		pcm = append(pcm, out...)
	}
	return pcm
}

// frames splits the codes [T, K] of a golden file.
func frames(a *golden.Arrays) [][]int32 {
	codes, shape := a.I32("codes")
	return slices.Collect(slices.Chunk(codes, shape[1]))
}

func TestStages(t *testing.T) {
	want := golden.Load(t, "codec_dec_stages_T4")
	d := tiny(t, 1, "F32")
	s, err := d.NewTappedStream(0)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	wav := decode(t, s, frames(want), 3)
	golden.Check(t, "wav", wav, must(want.F32("wav")))
	taps := map[string]Tap{}
	for _, tap := range s.Taps() {
		taps[tap.Name] = tap
	}
	for _, name := range want.Names() {
		if name == "codes" || name == "wav" {
			continue
		}
		data, shape := want.F32(name)
		assert.Equal(t, shape, taps[name].Shape, name)
		golden.Check(t, name, taps[name].Data, data)
	}
	for name := range taps {
		_, err := path.Match("*", name)
		require.NoError(t, err)
	}
}

func must(data []float32, _ []int) []float32 { return data }
