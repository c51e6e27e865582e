package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/cli"
)

// An itemResult is what became of an item: the file NAME.json beside its audio.
type itemResult struct {
	ID       string     `json:"id"`
	OK       bool       `json:"ok"`
	Error    *itemError `json:"error"`           // null: none
	Audio    string     `json:"audio,omitempty"` // file in the same folder
	Bytes    int64      `json:"bytes,omitempty"` // of that file
	Format   string     `json:"format"`
	Seconds  float64    `json:"seconds"`          // as heard
	Pieces   int        `json:"pieces,omitempty"` // of a long text
	Warnings []string   `json:"warnings"`
	Hash     string     `json:"hash"`    // of what the audio depends on
	Version  string     `json:"version"` // of the program

	core.Profile // how far it got
}

// An itemError tells why an item has no audio.
type itemError struct {
	Kind    string `json:"kind"` // that of the exit code
	Message string `json:"message"`
}

// errorKinds are the words for exit codes.
var errorKinds = map[int]string{
	cli.ExitFailure: "generate", cli.ExitUsage: "invalid", cli.ExitMode: "mode", cli.ExitModel: "model",
	cli.ExitMemory: "memory", cli.ExitIO: "io",
}

// maxResult bounds a result file, bytes.
const maxResult = 1 << 20

// readResult reads the result file of an item; nil if there is none of ours.
func readResult(dir string, it *item) *itemResult {
	path := filepath.Join(dir, it.name+".json")
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxResult {
		return nil
	}
	data, err := os.ReadFile(path)
	var r itemResult
	if err != nil || json.Unmarshal(data, &r) != nil || r.ID != it.id || r.Hash == "" {
		return nil
	}
	return &r
}

// isDone tells whether the folder has the audio that an item asks for.
func isDone(dir string, it *item) bool {
	r := readResult(dir, it)
	if r == nil || !r.OK || r.Hash != it.hash || r.Audio != it.audio() {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, r.Audio))
	return err == nil && info.Size() == r.Bytes
}

// clearResult takes away the audio of an earlier, different version of an item, so that nobody takes it for that of the new one.
func clearResult(dir string, it *item) error {
	r := readResult(dir, it)
	if r == nil || filepath.Base(r.Audio) != r.Audio {
		return nil
	}
	if err := os.Remove(filepath.Join(dir, it.name+".json")); err != nil {
		return err
	}
	if r.Audio == "" {
		return nil
	}
	if err := os.Remove(filepath.Join(dir, r.Audio)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// audio is the name of an item's audio file.
func (it *item) audio() string { return it.name + it.format.Ending() }

// write writes the result file.
func (r *itemResult) write(dir string, it *item) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, it.name+".json"), append(data, '\n'))
}
