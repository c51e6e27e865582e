package golden

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed models
var models embed.FS

const (
	codecModel   = "tiny-tokenizer-12hz"
	manifestFile = "model.weights.json"
	weightsFile  = "model.safetensors"
)

// Models returns the names of the tiny checkpoints, the codec last.
func Models() []string {
	return []string{"tiny-customvoice-17", "tiny-voicedesign-17", "tiny-base-17", "tiny-customvoice-06", "tiny-base-06", codecModel}
}

// WriteCheckpoints writes the tiny checkpoints, in the layout of the published ones, to dir/<name>/: configuration,
// tokenizer, model.safetensors, and a speech_tokenizer link (a copy where links can't be made) in each talker's
// directory. It fails unless the weights have the digests of models/SHA256SUMS.
func WriteCheckpoints(dir string) error {
	sums, err := readSums()
	if err != nil {
		return fmt.Errorf("golden: %w", err)
	}
	for _, name := range Models() {
		if err := writeCheckpoint(filepath.Join(dir, name), name, sums[name+"/"+weightsFile]); err != nil {
			return fmt.Errorf("golden: %s: %w", name, err)
		}
	}
	for _, name := range Models() {
		if name == codecModel {
			continue
		}
		if err := linkCodec(dir, name); err != nil {
			return fmt.Errorf("golden: %s: speech_tokenizer: %w", name, err)
		}
	}
	return nil
}

// readSums returns the hexadecimal SHA-256 of each file listed in models/SHA256SUMS.
func readSums() (map[string]string, error) {
	raw, err := models.ReadFile("models/SHA256SUMS")
	if err != nil {
		return nil, err
	}
	sums := make(map[string]string)
	for s := bufio.NewScanner(bytes.NewReader(raw)); s.Scan(); {
		sum, file, _ := strings.Cut(s.Text(), "  ")
		sums[file] = sum
	}
	return sums, nil
}

func writeCheckpoint(dst, name, sum string) error {
	if err := copyModel(dst, name); err != nil {
		return err
	}
	raw, err := models.ReadFile(path.Join("models", name, manifestFile))
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("%s: %w", manifestFile, err)
	}
	f, err := os.Create(filepath.Join(dst, weightsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if err := m.writeSafetensors(io.MultiWriter(f, h)); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return fmt.Errorf("%s: sha256 is %s, want %s", weightsFile, got, sum)
	}
	return f.Close()
}

// copyModel writes the embedded files of a model, all but its manifest.
func copyModel(dst, name string) error {
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return err
	}
	src := path.Join("models", name)
	entries, err := fs.ReadDir(models, src)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == manifestFile {
			continue
		}
		raw, err := models.ReadFile(path.Join(src, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dst, e.Name()), raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func linkCodec(dir, name string) error {
	link := filepath.Join(dir, name, "speech_tokenizer")
	if err := os.RemoveAll(link); err != nil {
		return err
	}
	if os.Symlink(filepath.Join("..", codecModel), link) == nil {
		return nil
	}
	return os.CopyFS(link, os.DirFS(filepath.Join(dir, codecModel)))
}
