package onnx

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestLibrariesThatAreNone: what QWEN_ONNXRUNTIME names is opened, or the error says why not.
func TestLibrariesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		return path
	}
	other, err := filepath.Glob(filepath.Join(testenv.GGMLDir(t), "*ggml-base*"))
	require.NoError(t, err)
	require.NotEmpty(t, other)
	for path, want := range map[string]string{
		filepath.Join(dir, "absent.so"):   "absent.so",
		t.TempDir():                       "no " + systemNames()[0] + " in ",
		write("text.so", "not a library"): "text.so cannot be opened",
		other[0]:                          "is no ONNX Runtime",
	} {
		_, err := open(path)
		assert.ErrorIs(t, err, ErrLibrary, path)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, EnvLibrary)
	}
}

// TestWithoutALibrary: the error says what to install and which variable names it.
func TestWithoutALibrary(t *testing.T) {
	t.Setenv(EnvLibrary, "")
	_, err := find()
	if err == nil {
		t.Skip("there is one that the system finds")
	}
	assert.ErrorIs(t, err, ErrLibrary)
	assert.ErrorContains(t, err, howToInstall())
	assert.ErrorContains(t, err, "set QWEN_ONNXRUNTIME to the library or its folder")
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"1.17.0": true, "1.32.0": true, "1.100": true, "1.16.3": false, "0.20": false, "2.0.0": false, "": false, "1": false, "1.x": false,
	} {
		assert.Equal(t, want, supported(version), version)
	}
}

// TestTheNewestIsTaken: of the files in a folder, and never one of an execution provider.
func TestTheNewestIsTaken(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names are those of Linux")
	}
	dir := t.TempDir()
	assert.Empty(t, newest(dir))
	for _, name := range []string{"libonnxruntime.so.1.17.0", "libonnxruntime.so.1.32.0", "libonnxruntime_providers_cuda.so", "libonnxruntime4j.so"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	assert.Equal(t, "libonnxruntime.so.1.32.0", filepath.Base(newest(dir)))
}

// TestProviders: names, lists, the environment, and what is not there.
func TestProviders(t *testing.T) {
	testenv.ONNXRuntime(t)
	file := golden.ONNX(t, stateful)
	try := func(choice string) (*Decoder, error) {
		d, err := Open(file, Options{Provider: choice, Threads: 1})
		if err == nil {
			t.Cleanup(d.Free)
		}
		return d, err
	}
	t.Setenv(EnvProvider, "")
	for _, choice := range []string{"", "auto", "cpu", " CPU "} {
		d, err := try(choice)
		require.NoError(t, err, choice)
		assert.Equal(t, "cpu", d.Provider(), "nothing better is part of this ONNX Runtime")
		assert.Empty(t, d.Warnings())
	}
	d, err := try("rknpu, cann,cpu")
	require.NoError(t, err)
	assert.Equal(t, "cpu", d.Provider())
	require.Len(t, d.Warnings(), 2)
	assert.Contains(t, d.Warnings()[1], "cann is not part of this ONNX Runtime")
	assert.Contains(t, d.Warnings()[1], "; cpu is used")

	_, err = try("rknpu,cann")
	assert.ErrorIs(t, err, ErrProvider)
	assert.ErrorContains(t, err, "rknpu is not part")
	assert.ErrorContains(t, err, "cann is not part")
	assert.ErrorContains(t, err, "available: cpu")
	for _, choice := range []string{"gpu", "cpu,", "auto,cpu"} {
		_, err = try(choice)
		assert.ErrorIs(t, err, ErrChoice, choice)
		assert.ErrorContains(t, err, "not one of auto, cpu, cuda")
	}

	t.Setenv(EnvProvider, "rknpu")
	_, err = try("")
	assert.ErrorContains(t, err, "rknpu is not part")
	_, err = try("cpu")
	assert.NoError(t, err, "the option decides")
	t.Setenv(EnvProvider, "gpu")
	_, err = try("")
	assert.ErrorContains(t, err, "QWEN_ONNX_PROVIDER: unknown execution provider")
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	_, ok := Find(dir)
	assert.False(t, ok)
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), nil, 0o666))
	file, ok := Find(dir)
	assert.True(t, ok)
	assert.Equal(t, filepath.Join(dir, FileName), file)
	file, ok = Find("x/V.ONNX")
	assert.True(t, ok)
	assert.Equal(t, "x/V.ONNX", file)
	_, ok = Find("codec.gguf")
	assert.False(t, ok)
}

func TestMessagesAreOneLine(t *testing.T) {
	assert.Equal(t, "Failed to load x : y", oneLine("/src/bridge.cc:2043 Get()\n [ONNXRuntimeError] : 1 : FAIL : Failed to load\nx : y."))
	assert.Equal(t, "plain", oneLine(" plain \n"))
	assert.Equal(t, 500+len(" …"), len(oneLine(string(make([]byte, 600)))))
}
