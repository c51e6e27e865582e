package codec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestCheckForetellsMemory compares with what a decoder and its stream take.
func TestCheckForetellsMemory(t *testing.T) {
	be := testenv.CPU(t, 1)
	for _, typ := range []string{"F32", "Q8_0"} {
		f, err := gguf.Open(golden.GGUF(t, "tiny-tokenizer-12hz", typ))
		require.NoError(t, err)
		defer f.Close()
		n, err := Check(f, DefaultWidth, true)
		require.NoError(t, err)
		cfg, err := ReadConfig(f)
		require.NoError(t, err)
		d, err := LoadDecoder(be, f, cfg)
		require.NoError(t, err)
		defer d.Free()
		_, copied := d.Bytes()
		assert.InEpsilon(t, copied, n.Decoder.Copied, .1, typ)
		s, err := d.NewStream(DefaultWidth)
		require.NoError(t, err)
		defer s.Close()
		assert.InEpsilon(t, s.Bytes(), n.State, .02, "before any graph is there")
	}
}
