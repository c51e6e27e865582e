// Package dylib opens shared libraries at run time and says where to look for them.
package dylib

import (
	"os"
	"path/filepath"
)

// Beside lists where a library is looked for around the file that holds this code: its own folder, the folders of the
// library's name and "lib" in it, and the hidden one (".name") there and up to two folders above.
func Beside(name string) []string {
	path := Module()
	if path == "" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	dir := filepath.Dir(path)
	above := filepath.Dir(dir)
	return []string{dir, filepath.Join(dir, name), filepath.Join(dir, "lib"),
		filepath.Join(dir, "."+name), filepath.Join(above, "."+name), filepath.Join(filepath.Dir(above), "."+name)}
}

// IsFile tells whether a path is that of a regular file.
func IsFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
