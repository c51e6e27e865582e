package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/checkpoint"
)

// modelFiles are the endings of files that models consist of.
var modelFiles = []string{".safetensors", ".json", ".txt", ".gguf", ".onnx", ".data"}

// KeepInputs refuses an output that would replace something that is read, by whatever name. A folder among the inputs
// stands for the files of models in it. An output or input that is "" or "-" is none.
func KeepInputs(out string, inputs ...string) error {
	there := regular(out)
	if there == nil {
		return nil
	}
	for _, in := range inputs {
		for _, path := range filesOf(in) {
			if info := regular(path); info != nil && os.SameFile(there, info) {
				return Usagef("%s is the input and would be replaced", out)
			}
		}
	}
	return nil
}

// KeepExisting refuses to replace a file, unless force is set.
func KeepExisting(out string, force bool) error {
	if _, err := os.Lstat(out); err == nil && !force {
		return Usagef("%s exists; --force replaces it", out)
	}
	return nil
}

// KeepStdin is KeepInputs for what is read from a standard stream: with "<" that is a file, too.
func KeepStdin(out string, stdin any) error {
	f, ok := stdin.(*os.File)
	if !ok {
		return nil
	}
	in, err := f.Stat()
	if there := regular(out); err == nil && there != nil && os.SameFile(there, in) {
		return Usagef("%s is the input and would be replaced", out)
	}
	return nil
}

// KeepApart refuses two outputs that are one file.
func KeepApart(a, b string) error {
	if a == "" || b == "" || a == "-" || b == "-" {
		return nil
	}
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	if errX == nil && errY == nil && x == y || KeepInputs(a, b) != nil {
		return Usagef("%s cannot be two outputs at once", a)
	}
	return nil
}

// regular is what is known of a regular file, nil if there is none.
func regular(path string) os.FileInfo {
	info, err := os.Stat(path)
	if path == "" || path == "-" || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// filesOf are the files that an input stands for.
func filesOf(in string) []string {
	files := []string{in}
	for _, dir := range []string{in, filepath.Join(in, checkpoint.TokenizerDir)} {
		if in == "" {
			break
		}
		entries, _ := os.ReadDir(dir) // of what is no folder there are none
		for _, e := range entries {
			if slices.Contains(modelFiles, strings.ToLower(filepath.Ext(e.Name()))) {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	return files
}
