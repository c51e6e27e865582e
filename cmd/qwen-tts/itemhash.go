package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/libqwen/libqwen/core"
)

// A hasher makes the hashes by which a result is known to be that of an item: of the models, of what the item says, and
// of the files that it names.
type hasher struct {
	common  string // what all items have in common
	changed func(flag string) bool
	counted []string // flags, sorted
	form    *form
	files   map[string]string // digest by path
}

// newHasher looks at the models and at the flags that no item overrides.
func newHasher(models []core.Options, o *options, changed func(flag string) bool) (*hasher, error) {
	h := sha256.New()
	fmt.Fprintf(h, "libqwen items 1\n%v %v %v %s\n", o.model.ClampFP16, o.model.CodecBF16, o.model.NoFlashAttention, o.model.KVType)
	for _, m := range models {
		for _, path := range []string{m.TalkerPath, m.PredictorPath, m.TokenizerPath, m.CodecPath} {
			if err := fingerprint(h, path); err != nil {
				return nil, err
			}
		}
	}
	counted := append(slices.Collect(maps.Values(itemFields)), "design", "anchor-text")
	slices.Sort(counted)
	return &hasher{common: digest(h), changed: changed, counted: slices.Compact(counted), form: newForm(), files: map[string]string{}}, nil
}

func digest(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// fingerprint tells model files apart without reading all of them: by their sizes and samples from all over them. What
// they are called does not matter.
func fingerprint(h hash.Hash, path string) error {
	if path == "" {
		return nil
	}
	return filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return samplesOf(h, file)
	})
}

// samplesOf hashes the size of a file and 64 pieces of it.
func samplesOf(h hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	const pieces, width = 64, 4096
	fmt.Fprintf(h, "%d\n", info.Size())
	buf := make([]byte, width)
	for i := range int64(pieces) {
		n, err := f.ReadAt(buf, max(0, info.Size()-width)*i/(pieces-1))
		if err != nil && err != io.EOF {
			return err
		}
		h.Write(buf[:n])
	}
	return nil
}

// of is the hash of an item: of the flags that the command line or the item sets, since what neither sets is the model's.
func (h *hasher) of(it *item) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n", h.common)
	for _, f := range h.values(it) {
		fmt.Fprintf(sum, "%q\n", f)
	}
	return "sha256:" + digest(sum)
}

// values are what counts of an item's options, in the order of the flags' names.
func (h *hasher) values(it *item) (values []string) {
	h.form.options = it.options
	for _, flag := range h.counted {
		value := h.form.flags.Lookup(flag).Value.String()
		switch {
		case value != "" && (slices.Contains(fileFlags, flag) || flag == "ref-text" && !it.options.inline):
			value = h.file(value)
		case !it.set[flag] && !h.changed(flag):
			continue
		}
		values = append(values, flag, value)
	}
	return values
}

// file is the digest of what a file holds. One that cannot be read has its name's: whoever speaks the item will tell.
func (h *hasher) file(path string) string {
	if d, ok := h.files[path]; ok {
		return d
	}
	sum := sha256.New()
	f, err := os.Open(path)
	if err == nil {
		_, err = io.Copy(sum, f)
		f.Close()
	}
	if err != nil {
		fmt.Fprintf(sum, "unreadable %s", path)
	}
	h.files[path] = digest(sum)
	return h.files[path]
}
