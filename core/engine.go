// Package core is the Qwen3-TTS engine: text (and a voice) in, 24 kHz mono speech out.
//
//	eng, err := core.Open(core.Options{TalkerPath: "talker.gguf", CodecPath: "tokenizer.gguf"})
//	defer eng.Close()
//	req := eng.DefaultRequest()
//	req.Text, req.Speaker = "Hello world.", "vivian"
//	res, err := eng.Synthesize(ctx, &req, func(pcm []float32) error { … })
//
// An Engine is safe for concurrent use; synthesis is serialised.
package core

import (
	"log/slog"
)

// SampleRate of all audio in and out, Hz.
const SampleRate = 24000

// Options say what to open and where to run it. The zero value of each optional field means the default.
type Options struct {
	TalkerPath string // GGUF of the Talker and CodePredictor
	CodecPath  string // GGUF of the 12 Hz speech tokenizer

	Device  string // "auto" (default), "cpu"
	Threads int    // CPU threads; 0 takes QWEN_THREADS, else DefaultThreads
	GGMLDir string // where ggml's shared libraries are; "" searches (see ggml.Load)
	Context int    // most positions (prompt + frames) of one synthesis; 0 = 4096, bounded by the model

	ChunkSeconds     float32 // most seconds of audio the codec decodes at once (a memory knob); 0 = 24
	NoFlashAttention bool
	ClampFP16        bool
	MaxBatch         int // sessions that may be computed together; 0 = 1

	Logger *slog.Logger // nil logs nothing
}
