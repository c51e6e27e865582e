// Package checkpoint reads Qwen3-TTS checkpoint directories, as published, without converting them: one opens as the GGUF
// file that it would become.
//
// A talker checkpoint has config.json, generation_config.json, vocab.json, merges.txt, tokenizer_config.json and
// model.safetensors (or its shards and their index); a speech tokenizer has config.json and model.safetensors.
// From the configuration follows the exact list of tensors (talker.go, speaker.go, codec.go), with which the
// checkpoint must agree by name and shape.
package checkpoint

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	weightsFile = "model.safetensors"
	indexFile   = "model.safetensors.index.json"
)

// checkpoint is an open checkpoint directory.
type checkpoint struct {
	dir     string
	config  object // config.json
	files   []*safetensors
	tensors map[string]sourceTensor // of all files
}

// openCheckpoint opens a directory with a config.json and its weights, in one file or in shards.
func openCheckpoint(dir string) (*checkpoint, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, inputf("%s: no such directory", dir)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, inputf("%s: a checkpoint directory expected, but it is a file", dir)
	}
	config, err := readObject(dir, "config.json")
	if err != nil {
		return nil, err
	}
	c := &checkpoint{dir: dir, config: config}
	if err := c.openWeights(); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// check is gguf.File's Check of the weight files.
func (c *checkpoint) check() (modified bool, err error) {
	for _, f := range c.files {
		changed, err := f.mapping.Check()
		if err != nil {
			return true, err
		}
		modified = modified || changed
	}
	return modified, nil
}

// Close unmaps the weight files.
func (c *checkpoint) Close() error {
	var err error
	for _, f := range c.files {
		err = errors.Join(err, f.mapping.Close())
	}
	return err
}

func (c *checkpoint) exists(name string) bool {
	_, err := os.Stat(filepath.Join(c.dir, name))
	return err == nil
}

func (c *checkpoint) openWeights() error {
	switch {
	case c.exists(weightsFile):
		f, err := openSafetensors(filepath.Join(c.dir, weightsFile))
		if err != nil {
			return err
		}
		c.files, c.tensors = append(c.files, f), f.tensors
		return nil
	case c.exists(indexFile):
		return c.openShards()
	case c.exists("pytorch_model.bin"):
		return inputf("%s: missing in %s; pytorch_model.bin is not read, save it as safetensors", weightsFile, c.dir)
	}
	return inputf("%s: missing in %s", weightsFile, c.dir)
}

// openShards opens the files that the index names, and checks that they hold exactly what it says.
func (c *checkpoint) openShards() error {
	index, err := readObject(c.dir, indexFile)
	if err != nil {
		return err
	}
	weights := index.object("weight_map")
	shardOf := make(map[string]string, len(weights.names))
	var shards []string
	for _, name := range weights.names {
		var shard string
		if json.Unmarshal(weights.values[name], &shard) != nil || shard == "" || shard != filepath.Base(shard) ||
			strings.ContainsAny(shard, `/\`) || !filepath.IsLocal(shard) {
			weights.failf(name, "%s is not a file name", excerpt(weights.values[name]))
			break
		}
		shardOf[name] = shard
		if !slices.Contains(shards, shard) {
			shards = append(shards, shard)
		}
		if len(shards) > maxCount {
			weights.failf(name, "more than %d files", maxCount)
			break
		}
	}
	if *index.err != nil {
		return *index.err
	}
	c.tensors = make(map[string]sourceTensor, len(shardOf))
	for _, shard := range shards {
		f, err := openSafetensors(filepath.Join(c.dir, shard))
		if err != nil {
			return err
		}
		c.files = append(c.files, f)
		for name, t := range f.tensors {
			if shardOf[name] != shard {
				return inputf("%s: %s: the index does not place it there", shard, name)
			}
			t.file = len(c.files) - 1
			c.tensors[name] = t
		}
	}
	for _, name := range weights.names {
		if _, ok := c.tensors[name]; !ok {
			return inputf("%s: %s: missing, though the index places it there", shardOf[name], name)
		}
	}
	return nil
}

// shapes are the names and shapes of all tensors.
func (c *checkpoint) shapes() map[string][]int64 {
	shapes := make(map[string][]int64, len(c.tensors))
	for name, t := range c.tensors {
		shapes[name] = t.shape
	}
	return shapes
}
