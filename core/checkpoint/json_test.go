package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseObject(t *testing.T) {
	e, err := parseObject([]byte(` {"z": 1, "a": {"b": [2]}, "m": null} `))
	require.NoError(t, err)
	assert.Equal(t, []string{"z", "a", "m"}, e.names, "in the order of the file")
	assert.Equal(t, `{"b": [2]}`, string(e.values["a"]))
	for text, want := range map[string]string{
		"":                    "cut off",
		"{":                   "cut off",
		`{"a": 1`:             "cut off",
		`{"a": {"b"`:          "a: the JSON text is cut off",
		"[1]":                 "not a JSON object",
		"null":                "not a JSON object",
		`{"a": 1, "a": 2}`:    "a occurs twice",
		`{"a": 1} x`:          "something follows the JSON object",
		`{"a": 1}{}`:          "something follows the JSON object",
		`{"a": nan}`:          "invalid character",
		`{a: 1}`:              "invalid character",
		"<html>not found</ht": "invalid character '<'",
	} {
		_, err := parseObject([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestReadObject(t *testing.T) {
	dir := t.TempDir()
	_, err := readObject(dir, "config.json")
	assert.ErrorIs(t, err, ErrInput)
	assert.ErrorContains(t, err, "config.json: missing in "+dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "config.json"), 0o777))
	_, err = readObject(dir, "config.json")
	assert.ErrorContains(t, err, "not a regular file")
}

// A field is read once all is well; the first failure stays, with its path.
func TestObjectRemembersTheFirstFailure(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c.json"), []byte(`{"a": {"b": {"n": "x",
		"c": [
		1]}}, "f": 1e3, "g": 24000.0, "zero": null}`), 0o666))
	o, err := readObject(dir, "c.json")
	require.NoError(t, err)
	assert.Equal(t, 1000, o.width("f"), "1e3 is an integer")
	assert.Equal(t, 24000, o.width("g"))
	assert.False(t, o.has("zero"))
	require.NoError(t, *o.err)
	b := o.object("a").object("b")
	assert.Zero(t, b.width("n"))
	b.string("missing")
	assert.EqualError(t, *o.err, `c.json: a.b.n: an integer expected, but it is "x"`)
	*o.err = nil
	b.string("c")
	assert.EqualError(t, *o.err, "c.json: a.b.c: a string expected, but it is [ 1]", "in one line")
}
