package gguf

import (
	"bytes"
	"encoding/binary"
)

// signatures are the first bytes of files that people hand over in place of a GGUF file.
var signatures = []struct{ prefix, what string }{
	{"version https://git-lfs", "a Git LFS pointer; the model itself was not downloaded (git lfs pull)"},
	{"PK\x03\x04", "a zip archive, such as a PyTorch checkpoint"},
	{"\x80\x02", "a Python pickle, such as an old PyTorch checkpoint"},
	{"\x1f\x8b", "a gzip archive"},
	{"\x28\xb5\x2f\xfd", "a zstd archive"},
	{"\xfd7zXZ\x00", "an xz archive"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"\x93NUMPY", "a NumPy array"},
	{"\x7fELF", "a program or library"},
	{"MZ", "a Windows program or library"},
	{"RIFF", "a RIFF file, such as WAV audio"},
	{"ID3", "MP3 audio"},
	{"fLaC", "FLAC audio"},
	{"OggS", "Ogg audio"},
	{"lmgg", "a GGML file of before GGUF"},
	{"fmgg", "a GGML file of before GGUF"},
	{"tjgg", "a GGML file of before GGUF"},
	{"algg", "a GGML adapter of before GGUF"},
}

// recognise says what data, which is not GGUF, seems to be, or "" if it cannot tell.
func recognise(data []byte) string {
	if len(data) > 9 && data[8] == '{' && binary.LittleEndian.Uint64(data) < uint64(len(data)) {
		return "a safetensors file; qwen-convert makes a GGUF file of a checkpoint directory"
	}
	for _, s := range signatures {
		if bytes.HasPrefix(data, []byte(s.prefix)) && len(data) > len(s.prefix) {
			return s.what
		}
	}
	if len(data) > 3 && data[0] == 8 && data[1] < 32 && data[2] == 0x12 { // ir_version, producer_name
		return "an ONNX model"
	}
	head := data[:min(len(data), 512)]
	text := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))))
	switch {
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return "an HTML page, as left by a failed download"
	case bytes.HasPrefix(text, []byte("<?xml")), bytes.HasPrefix(text, []byte("<error")):
		return "an XML document, as left by a failed download"
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		return "a JSON document"
	case len(bytes.Trim(head, "\x00")) == 0:
		return "zeros, as left by an interrupted download"
	}
	return ""
}
