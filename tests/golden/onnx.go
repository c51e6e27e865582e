package golden

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed onnx
var vocoders embed.FS

// ONNX returns the path of the codec's decoder as an ONNX model: "tiny-vocoder", which carries its state from call to
// call, or "tiny-vocoder-whole", which has none. Made by scripts/export-onnx.py --beside, the models have no weights of
// their own: they lie beside those of the checkpoint.
func ONNX(tb testing.TB, name string) string {
	tb.Helper()
	raw, err := vocoders.ReadFile("onnx/" + name + ".onnx")
	require.NoError(tb, err)
	sum := sha256.Sum256(raw)
	dir := filepath.Join(Checkpoints(tb), codecModel)
	path, err := once(filepath.Join(dir, name+"-"+hex.EncodeToString(sum[:6])+".onnx"), func(path string) error {
		return os.WriteFile(path, raw, 0o644)
	})
	require.NoError(tb, err)
	return path
}
