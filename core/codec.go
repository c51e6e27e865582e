package core

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Codec is the speech tokenizer by itself: audio to codes and back. With the file of a base model it also gives
// x-vectors. It is not safe for concurrent use.
type Codec struct {
	be        *ggml.Backend
	files     []*gguf.File
	decoder   vocoder
	extractor extractor
}

// OpenCodec opens Options.CodecPath and, if it is set, Options.TalkerPath for its speaker encoder.
func OpenCodec(opts Options) (*Codec, error) {
	c := &Codec{}
	if err := c.open(opts); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Codec) open(opts Options) error {
	opts, err := FindModel(opts)
	if err != nil {
		return err
	}
	if opts.codecPath() == "" {
		return fail(ErrInvalid, "codec_path: missing")
	}
	if err := opts.checkDevice(); err != nil {
		return err
	}
	threads, err := opts.threads()
	if err != nil {
		return err
	}
	if c.extractor.tokenizer, err = openTokenizer(opts.codecPath(), c.openFile); err != nil {
		return err
	}
	if opts.TalkerPath != "" {
		if c.extractor.talker, _, err = opts.openLM(); err != nil {
			return err
		}
		c.files = append(c.files, c.extractor.talker)
	}
	log := opts.logger()
	if err := loadGGML(opts.GGMLDir, log); err != nil {
		return err
	}
	placed, err := readPlacement(opts.device())
	if err != nil {
		return fail(ErrInvalid, "device: %s", err)
	}
	if c.be, err = (chooser{log, threads}).open(placed.codec); err != nil {
		return err
	}
	c.extractor.be, c.extractor.turn = c.be, newQueue(1)
	if c.decoder, err = loadVocoder(c.be, c.extractor.tokenizer, &opts); err != nil {
		return err
	}
	c.extractor.decoder, c.extractor.codecPath, c.extractor.cache = c.decoder, opts.codecPath(), newLRU[voiceID, *Voice](cachedVoices)
	if c.extractor.talker == nil {
		return nil
	}
	config, err := lm.ReadConfig(c.extractor.talker)
	if err != nil {
		return loadError(opts.TalkerPath, err)
	}
	return belongTogether(config, c.decoder)
}

func (c *Codec) openFile(path, architecture, what string) (*gguf.File, error) {
	f, err := openFile(path, architecture, what)
	if err == nil {
		c.files = append(c.files, f)
	}
	return f, err
}

// openFile maps a model file of a certain architecture.
func openFile(path, architecture, what string) (*gguf.File, error) {
	f, err := model.Open(path, architecture, what)
	if err != nil {
		return nil, as(ErrModel, fmt.Errorf("%s: %w", what, err))
	}
	return f, nil
}

// loadGGML binds ggml's libraries and sends their messages to a logger.
func loadGGML(dir string, log *slog.Logger) error {
	if err := ggml.Load(dir); err != nil {
		return as(ErrBackend, err)
	}
	ggml.SetLog(func(level ggml.LogLevel, msg string) {
		switch level {
		case ggml.LogError:
			log.Error("ggml: " + msg)
		case ggml.LogWarn:
			log.Warn("ggml: " + msg)
		default:
			log.Debug("ggml: " + msg)
		}
	})
	return nil
}

// Close releases everything.
func (c *Codec) Close() {
	c.extractor.free()
	if c.decoder != nil {
		c.decoder.Free()
	}
	if c.be != nil {
		c.be.Close()
	}
	for _, f := range c.files {
		f.Close()
	}
}

// Codebooks is the number of codes in a frame.
func (c *Codec) Codebooks() int { return c.decoder.Codebooks() }

// CodebookSize is the number of entries of a codebook.
func (c *Codec) CodebookSize() int { return c.decoder.CodebookSize() }

// Hop is the number of samples that a frame stands for.
func (c *Codec) Hop() int { return c.decoder.Hop() }

// Encodes tells whether there is an encoder: an ONNX vocoder has none, and Encode fails with ErrMode.
func (c *Codec) Encodes() bool { return c.extractor.tokenizer != nil }

// Encode gives the codes [frames][codebooks] of the whole frames of a clip, 24 kHz mono; a rest is left out.
func (c *Codec) Encode(ctx context.Context, pcm []float32) ([][]int32, error) {
	if _, err := checkClip("audio", pcm, c.Hop()); err != nil {
		return nil, err
	}
	return c.extractor.encode(ctx, pcm)
}

// Embed gives the x-vector of a clip, 24 kHz mono; it needs the file of a base model.
func (c *Codec) Embed(ctx context.Context, pcm []float32) ([]float32, error) {
	if c.extractor.talker == nil {
		return nil, fail(ErrMode, "speaker vector: needs the file of a base model")
	}
	if err := checkReference("audio", pcm, c.Hop()); err != nil {
		return nil, err
	}
	return c.extractor.embed(ctx, pcm)
}

// Decode hands the audio of the codes [frames][codebooks] to emit, a few frames at a time.
func (c *Codec) Decode(ctx context.Context, codes [][]int32, emit func(pcm []float32) error) error {
	if err := c.decoder.CheckCodes(codes); err != nil {
		return as(ErrInvalid, err)
	}
	whole, _ := c.decoder.widths()
	width := min(whole, framesFor(defaultChunkSeconds, c.Hop()))
	s, err := c.decoder.newStream(c.be, width)
	if err != nil {
		return loadError("codec", err)
	}
	defer s.Close()
	pcm := make([]float32, min(width, len(codes))*c.Hop())
	for len(codes) > 0 {
		if err := ctx.Err(); err != nil {
			return cancelled(err)
		}
		n := min(width, len(codes))
		if err := s.Decode(codes[:n], pcm[:n*c.Hop()]); err != nil {
			return as(ErrGenerate, err)
		}
		if err := emit(pcm[:n*c.Hop()]); err != nil {
			return &kindError{kind: ErrCancelled, err: err}
		}
		codes = codes[n:]
	}
	return nil
}
