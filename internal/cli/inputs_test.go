package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeepInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Join("model", "speech_tokenizer"), 0o777))
	for _, name := range []string{"in.wav", "other.wav", "model/config.json", "model/MODEL.SafeTensors", "model/speech_tokenizer/config.json", "model/old.wav"} {
		require.NoError(t, os.WriteFile(filepath.FromSlash(name), []byte(name), 0o666))
	}
	require.NoError(t, os.Link("in.wav", "hard.wav"))
	inputs := []string{"", "-", "none", "in.wav", "model", os.DevNull}
	for _, out := range []string{"in.wav", "./model/../in.wav", "hard.wav", "model/config.json", "model/MODEL.SafeTensors", "model/speech_tokenizer/config.json"} {
		err := KeepInputs(out, inputs...)
		assert.ErrorAs(t, err, new(UsageError), out)
		assert.ErrorContains(t, err, out+" is the input and would be replaced")
	}
	for _, out := range []string{"", "-", "none", "new.wav", "other.wav", "model/old.wav", "model", os.DevNull} {
		assert.NoError(t, KeepInputs(out, inputs...), out)
	}
	if os.Symlink("in.wav", "link.wav") == nil {
		assert.Error(t, KeepInputs("link.wav", inputs...))
		assert.Error(t, KeepInputs("in.wav", "link.wav"))
	}
}

func TestKeepStdin(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("text", []byte("text"), 0o666))
	f, err := os.Open("text")
	require.NoError(t, err)
	defer f.Close()
	assert.ErrorAs(t, KeepStdin("text", f), new(UsageError))
	assert.NoError(t, KeepStdin("other", f))
	assert.NoError(t, KeepStdin("-", f))
	assert.NoError(t, KeepStdin("text", nil))
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	assert.NoError(t, KeepStdin(os.DevNull, null))
}

func TestKeepApart(t *testing.T) {
	t.Chdir(t.TempDir())
	assert.ErrorAs(t, KeepApart("a", "./a"), new(UsageError), "neither is there yet")
	assert.NoError(t, KeepApart("a", "b"))
	assert.NoError(t, KeepApart("", ""))
	assert.NoError(t, KeepApart("-", "-"))
	require.NoError(t, os.WriteFile("a", nil, 0o666))
	require.NoError(t, os.Link("a", "b"))
	assert.Error(t, KeepApart("a", "b"))
}
