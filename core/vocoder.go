package core

import (
	"errors"
	"strings"

	"github.com/libqwen/libqwen/core/codec"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/onnx"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// vocoder turns codes into audio: the decoder of a speech tokenizer's GGUF file, by ggml, or an ONNX model, by ONNX
// Runtime.
type vocoder interface {
	// Hop is the number of samples that a frame becomes.
	Hop() int
	// Codebooks is the number of codes in a frame, CodebookSize the number of entries of each codebook.
	Codebooks() int
	CodebookSize() int
	// CheckCodes tells whether frames can be decoded.
	CheckCodes(codes [][]int32) error
	// Describe tells what computes, in a line; "" if it is ggml, as everywhere.
	Describe() string
	// Bytes are the sizes of the weights used in place and of the copies, where that can be told.
	Bytes() (inPlace, copied uint64)
	// Pending is about how many bytes of weights are still to be copied.
	Pending() uint64
	Free()

	// newStream makes a stream that decodes at most width frames at once, on a backend if it computes with ggml.
	newStream(be *ggml.Backend, width int) (vocoderStream, error)
	// widths are how many frames are best decoded at once: at most, for a whole utterance and for a streamed one.
	widths() (whole, streamed int)
}

// vocoderStream decodes one signal, in pieces of any size.
type vocoderStream interface {
	// Decode decodes the next frames into frames·Hop samples within [-1, 1].
	Decode(codes [][]int32, pcm []float32) error
	// Prime takes the next frames for what they do to the ones that follow.
	Prime(codes [][]int32) error
	// Reset forgets all frames.
	Reset()
	Close()

	snapshot() vocoderSnapshot
	restore(vocoderSnapshot)
}

// vocoderSnapshot is what a stream remembers at some point.
type vocoderSnapshot interface{ Bytes() int }

// loadVocoder opens what codec_path names: an ONNX model, or else the decoder in a file of the speech tokenizer.
func loadVocoder(be *ggml.Backend, f *gguf.File, opts *Options) (vocoder, error) {
	if f == nil {
		file, _ := onnx.Find(codecFile(opts.codecPath()))
		return openONNX(file, max(be.Threads(), 1), opts) // devices have no threads
	}
	d, err := loadDecoder(be, f, opts)
	if err != nil {
		return nil, err
	}
	return ggmlVocoder{d}, nil
}

func loadDecoder(be *ggml.Backend, f *gguf.File, opts *Options) (*codec.Decoder, error) {
	config, err := codec.ReadConfig(f)
	if err == nil {
		config.Rounded = opts.CodecBF16
		var d *codec.Decoder
		if d, err = codec.LoadDecoder(be, f, config); err == nil {
			return d, nil
		}
	}
	return nil, loadError(opts.codecPath(), err)
}

func openONNX(file string, threads int, opts *Options) (vocoder, error) {
	provider := opts.ONNXProvider
	if provider == "" && strings.EqualFold(opts.device(), "cpu") {
		provider = "cpu" // that is what was asked for
	}
	d, err := onnx.Open(file, onnx.Options{Provider: provider, Threads: threads})
	switch {
	case errors.Is(err, onnx.ErrChoice):
		return nil, as(ErrInvalid, err)
	case errors.Is(err, onnx.ErrLibrary), errors.Is(err, onnx.ErrProvider):
		return nil, as(ErrBackend, err)
	case errors.Is(err, onnx.ErrMemory):
		return nil, as(ErrMemory, err)
	case err != nil:
		return nil, as(ErrModel, err)
	}
	for _, w := range d.Warnings() {
		opts.logger().Warn(w)
	}
	return onnxVocoder{d}, nil
}

// ONNXProviders are the names that Options.ONNXProvider may have; which of them work is for ONNX Runtime to say.
func ONNXProviders() []string { return onnx.ProviderNames() }

// beside tells whether the vocoder works while the language models go on: on a ggml backend or, if they are on a device,
// ONNX Runtime's of its own.
func (e *Engine) beside() bool {
	_, other := e.decoder.(onnxVocoder)
	return e.codecBE != e.be || other && !e.be.Host()
}

// ggmlVocoder is the decoder of a speech tokenizer's file.
type ggmlVocoder struct{ *codec.Decoder }

func (v ggmlVocoder) Describe() string { return "" }

func (v ggmlVocoder) widths() (whole, streamed int) { return decodeFrames, 1 }

func (v ggmlVocoder) newStream(be *ggml.Backend, width int) (vocoderStream, error) {
	s, err := v.NewStreamOn(be, width)
	if err != nil {
		return nil, err
	}
	return ggmlStream{s}, nil
}

type ggmlStream struct{ *codec.Stream }

func (s ggmlStream) snapshot() vocoderSnapshot { return s.Snapshot() }

func (s ggmlStream) restore(p vocoderSnapshot) { s.Restore(p.(*codec.Snapshot)) }

// onnxVocoder is an ONNX model.
type onnxVocoder struct{ *onnx.Decoder }

// Bytes cannot be told.
func (v onnxVocoder) Bytes() (inPlace, copied uint64) { return 0, 0 }

// Pending is nothing: ONNX Runtime has loaded all that it needs.
func (v onnxVocoder) Pending() uint64 { return 0 }

// widths: without state, a piece costs its context again. So an utterance is decoded as a whole if it can be, and a
// stream in pieces of two seconds, but for its start.
func (v onnxVocoder) widths() (whole, streamed int) {
	if v.Stateful() {
		return onnx.DefaultWidth, 1
	}
	return onnx.MaxWidth, 25
}

func (v onnxVocoder) newStream(_ *ggml.Backend, width int) (vocoderStream, error) {
	s, err := v.NewStream(width)
	if err != nil {
		return nil, err
	}
	return onnxStream{s}, nil
}

type onnxStream struct{ *onnx.Stream }

func (s onnxStream) snapshot() vocoderSnapshot { return s.Snapshot() }

func (s onnxStream) restore(p vocoderSnapshot) { s.Restore(p.(*onnx.Snapshot)) }

// noEncoder is why an ONNX vocoder has no codes for a recording.
func noEncoder(path string) error {
	return fail(ErrMode, "%s: an ONNX vocoder has no encoder: the codes of a recording need a speech tokenizer's GGUF file as codec, "+
		"which can be used once, to keep the voice in a file", path)
}

// codecFile is the codec's file in a folder of model files: the speech tokenizer's if there is one, since it can encode,
// too. Other paths are as they are.
func codecFile(path string) string {
	if file := model.FindCodec(path); file != "" {
		return file
	}
	return path
}

// openTokenizer opens the speech tokenizer's file; nil if the path means an ONNX model.
func openTokenizer(path string, openFile func(path, architecture, what string) (*gguf.File, error)) (*gguf.File, error) {
	path = codecFile(path)
	if _, ok := onnx.Find(path); ok {
		return nil, nil
	}
	return openFile(path, codec.Architecture, "speech tokenizer")
}
