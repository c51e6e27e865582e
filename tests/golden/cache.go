package golden

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libqwen/libqwen/convert"
	"github.com/stretchr/testify/require"
)

// Checkpoints returns a directory with the tiny checkpoints (see WriteCheckpoints). They are made once, in the
// module's build directory, under a name that changes with the manifests; several test processes may ask at a time.
func Checkpoints(tb testing.TB) string {
	tb.Helper()
	dir, err := checkpoints()
	require.NoError(tb, err)
	return dir
}

// GGUF returns the path of a tiny checkpoint (a name of Models) converted to GGUF, its large matrices stored as typ
// (one of convert.Recipes). The file is made once for each state of the converter's sources.
func GGUF(tb testing.TB, model, typ string) string {
	tb.Helper()
	file, err := converted(model, typ)
	require.NoError(tb, err)
	return file
}

// Converted is GGUF for examples, which have no testing.TB.
func Converted(model, typ string) (string, error) { return converted(model, typ) }

func checkpoints() (string, error) {
	top, err := root()
	if err != nil {
		return "", err
	}
	key, err := hashTree(models, func(string) bool { return true })
	if err != nil {
		return "", err
	}
	return once(filepath.Join(top, "build", "tiny-"+key), WriteCheckpoints)
}

func converted(model, typ string) (string, error) {
	src, err := checkpoints()
	if err != nil {
		return "", err
	}
	top, err := root()
	if err != nil {
		return "", err
	}
	key, err := hashTree(os.DirFS(top), func(file string) bool {
		return strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
	}, "convert", "core/checkpoint", "ggml/gguf", "internal") // what the converter is made of
	if err != nil {
		return "", err
	}
	dir := filepath.Join(src, "gguf-"+key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return once(filepath.Join(dir, model+"-"+typ+".gguf"), func(dst string) error {
		return convert.Convert(convert.Options{Src: filepath.Join(src, model), Type: typ, WriteOptions: convert.WriteOptions{Dst: dst, GGMLDir: ggmlDir(top)}})
	})
}

// ggmlDir is where tests take ggml from, for the types that only it can write.
func ggmlDir(top string) string {
	if dir := os.Getenv("QWEN_GGML_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(top, ".ggml")
}

// once returns path, after having had it made if it isn't there. What is made appears under its name only when it is
// complete; of several processes that make it at the same time, one wins and the others take its result.
func once(path string, produce func(path string) error) (string, error) {
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), ".making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	made := filepath.Join(tmp, filepath.Base(path))
	if err := produce(made); err != nil {
		return "", err
	}
	if err := os.Rename(made, path); err != nil {
		if _, gone := os.Stat(path); gone != nil {
			return "", err
		}
	}
	return path, nil
}

// hashTree returns a short digest of names and contents of the files below dirs (all, if none are given) that keep
// accepts.
func hashTree(tree fs.FS, keep func(file string) bool, dirs ...string) (string, error) {
	h := sha256.New()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	for _, dir := range dirs {
		err := fs.WalkDir(tree, dir, func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !keep(file) {
				return err
			}
			return hashFile(h, tree, file)
		})
		if err != nil {
			return "", fmt.Errorf("golden: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

func hashFile(h hash.Hash, tree fs.FS, file string) error {
	f, err := tree.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(h, "%s\x00", file)
	_, err = io.Copy(h, f)
	return err
}
