package lm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestCacheBytes compares what is foretold with what a session takes.
func TestCacheBytes(t *testing.T) {
	const name = "cv17_auto_dylan"
	c, z := golden.Cases(t)[name], golden.Load(t, name)
	for _, typ := range []string{"F32", "Q8_0"} {
		m := load(t, testenv.CPU(t, 1), c.Model, typ)
		talker, _ := m.sessions(t, nil, nil)
		p, xvector := m.layout(t, c, z)
		_, err := talker.Prefill(context.Background(), p, xvector)
		require.NoError(t, err)
		f, err := model.Open(golden.GGUF(t, c.Model, typ), lm.Architecture, "talker")
		require.NoError(t, err)
		defer f.Close()
		size := uint64(2)
		if typ == "F32" {
			size = 4
		}
		predictor := 2 * size * uint64(m.Predictor.Layers*m.Predictor.KVHeads*m.Predictor.HeadDim*m.Codebooks)
		assert.Equal(t, talker.Bytes()+predictor, lm.CacheBytes(f, m.Config, len(p.Rows), nil), typ)
		assert.Greater(t, lm.CacheBytes(f, m.Config, 1000, nil), lm.CacheBytes(f, m.Config, 500, nil))
		assert.Greater(t, lm.GraphBytes(m.Config, 1000), lm.GraphBytes(m.Config, 500))
	}
}
