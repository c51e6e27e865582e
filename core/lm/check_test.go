package lm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestCheckCountsWhatLoadCopies: qwen-info's figures are those of a model that runs.
func TestCheckCountsWhatLoadCopies(t *testing.T) {
	be := testenv.CPU(t, 1)
	for _, typ := range []string{"F32", "F16", "Q8_0", "Q4_K_M"} {
		t.Run(typ, func(t *testing.T) {
			f, err := gguf.Open(golden.GGUF(t, "tiny-customvoice-17", typ))
			require.NoError(t, err)
			defer f.Close()
			foot, err := lm.Check(f, false)
			require.NoError(t, err)
			m, err := lm.Load(be, f, lm.Options{})
			require.NoError(t, err)
			defer m.Free()
			_, copied := m.Bytes()
			padding := float64(64 * len(f.Tensors()))
			assert.InDelta(t, float64(copied), float64(foot.Copied), padding)

			var file, large int64
			for _, x := range f.Tensors() {
				file += x.Size
				if len(x.Shape) > 1 {
					large = max(large, x.Size)
				}
			}
			assert.InDelta(t, float64(file), float64(foot.Device), .05*float64(file), "on a device as in the file, but for small vectors")
			if _, packs := kernels.PanelShape(be, gguf.Q8_0, 256, 256); packs && typ[0] == 'Q' {
				assert.Greater(t, foot.Copied, uint64(file/20), "panels are copies")
			}
		})
	}
}
