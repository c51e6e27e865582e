// Package dylib opens shared libraries at run time and says where to look for them.
package dylib

import (
	"os"
	"path/filepath"
)

// Beside lists where the libraries of a program are looked for around the file that holds this code: its own folder,
// the folders of the given names in it, and hidden ones (".name") there and up to two folders above.
func Beside(names ...string) []string {
	path := Module()
	if path == "" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	dir := filepath.Dir(path)
	list := []string{dir}
	for _, n := range names {
		list = append(list, filepath.Join(dir, n))
	}
	for _, up := range []string{".", "..", filepath.Join("..", "..")} {
		for _, n := range names {
			list = append(list, filepath.Join(dir, up, "."+n))
		}
	}
	return list
}

// IsFile tells whether a path is that of a regular file.
func IsFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
