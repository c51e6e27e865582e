package testenv

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names are those of a folder's entries, sorted.
func Names(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(tb, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Content is that of a file.
func Content(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	require.NoError(tb, err)
	return string(data)
}
