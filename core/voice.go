package core

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/libqwen/libqwen/core/codec"
	"github.com/libqwen/libqwen/core/speaker"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Voice is what is known of a reference speaker.
type Voice struct {
	XVector []float32 // [talker width]
	Codes   [][]int32 // [frames][codebooks]; optional, needs Request.RefText
}

const (
	// MaxReferenceSeconds is the longest reference clip.
	MaxReferenceSeconds = speaker.MaxSeconds
	// silentPeak is the level, -80 dB of full scale, that a reference must exceed somewhere.
	silentPeak = 1e-4
)

// ExtractVoice turns a reference clip, 24 kHz mono, into what cloning needs: the x-vector, of all samples, and the
// codes of the whole frames. Only base models have a speaker encoder: others fail with ErrMode.
func (e *Engine) ExtractVoice(ctx context.Context, pcm []float32) (*Voice, error) {
	return e.extractVoice(ctx, pcm, true)
}

// extractVoice leaves the codes out if they are not wanted, which is much faster.
func (e *Engine) extractVoice(ctx context.Context, pcm []float32, codes bool) (*Voice, error) {
	if err := e.begin(); err != nil {
		return nil, err
	}
	defer e.running.Done()
	if _, err := e.checkFiles(); err != nil {
		return nil, err
	}
	if err := checkReference("pcm_24k", pcm, e.decoder.Hop()); err != nil {
		return nil, err
	}
	ctx = closing{ctx, e}
	place, err := e.turn.enter(ctx)
	if err != nil {
		return nil, cancelled(err)
	}
	defer e.turn.leave(place)
	return e.extractor.voice(ctx, pcm, codes)
}

// checkReference refuses clips that no voice can be taken from.
func checkReference(field string, pcm []float32, hop int) error {
	peak, err := checkClip(field, pcm, hop)
	if err == nil && peak <= silentPeak {
		return fail(ErrInvalid, "%s: silence: no sample is louder than -80 dB of full scale", field)
	}
	return err
}

// checkClip refuses clips that have no codes; it tells the largest magnitude.
func checkClip(field string, pcm []float32, hop int) (peak float64, err error) {
	switch {
	case len(pcm) < hop:
		return 0, fail(ErrInvalid, "%s: %d samples; at least %d, one frame, are needed", field, len(pcm), hop)
	case len(pcm) > MaxReferenceSeconds*SampleRate:
		return 0, fail(ErrInvalid, "%s: %.1f s are longer than the %d s that a reference may last", field, float64(len(pcm))/SampleRate, MaxReferenceSeconds)
	}
	for i, x := range pcm {
		a := math.Abs(float64(x))
		if !(a <= math.MaxFloat32) { // also NaN
			return 0, fail(ErrInvalid, "%s: sample %d is not finite", field, i)
		}
		peak = max(peak, a)
	}
	return peak, nil
}

// monotonous tells whether a reference of a second or more has next to no variety in codebook 0, as noise, a hum or a
// damaged encoder give it.
func monotonous(codes [][]int32) bool {
	const second, variety = 13, 3
	distinct := map[int32]bool{}
	for _, frame := range codes {
		distinct[frame[0]] = true
	}
	return len(codes) >= second && len(distinct) < variety
}

// extractor turns reference clips into voices. Its encoders are loaded when they are first needed, since most
// programs never clone.
type extractor struct {
	turn              *queue // one clip at a time
	be                *ggml.Backend
	group             *group     // that uses it, too; nil if none does
	talker, tokenizer *gguf.File // tokenizer: nil with an ONNX vocoder
	decoder           vocoder    // what will read the codes
	codecPath         string
	encoder           *codec.Encoder
	speaker           *speaker.Encoder
	cache             *lru[voiceID, *Voice]
}

// voice is the x-vector of a clip and, if asked for, the codes of its whole frames.
func (x *extractor) voice(ctx context.Context, pcm []float32, codes bool) (*Voice, error) {
	key := voiceKey(pcm, codes)
	if v, ok := x.cache.get(key); ok {
		return v.clone(), nil
	}
	turn, err := x.turn.enter(ctx)
	if err != nil {
		return nil, cancelled(err)
	}
	defer x.turn.leave(turn)
	defer x.group.computing()()
	v := &Voice{}
	if v.XVector, err = x.embed(ctx, pcm); err != nil {
		return nil, err
	}
	if codes {
		if v.Codes, err = x.encode(ctx, pcm); err != nil {
			return nil, err
		}
	}
	x.cache.put(key, v.clone(), 1)
	return v, nil
}

// embed is the x-vector of a clip.
func (x *extractor) embed(ctx context.Context, pcm []float32) ([]float32, error) {
	if x.speaker == nil {
		config, err := speaker.ReadConfig(x.talker)
		if err == nil {
			x.speaker, err = speaker.Load(x.be, x.talker, config)
		}
		if err != nil {
			return nil, voiceError(err, ErrModel)
		}
	}
	v, err := x.speaker.Embed(ctx, pcm)
	return v, voiceError(err, ErrGenerate)
}

// encode gives the codes of a clip's whole frames; a rest is left out.
func (x *extractor) encode(ctx context.Context, pcm []float32) ([][]int32, error) {
	if x.tokenizer == nil {
		return nil, noEncoder(x.codecPath)
	}
	if err := x.loadEncoder(); err != nil {
		return nil, voiceError(fmt.Errorf("speech tokenizer: %w", err), ErrModel)
	}
	hop := x.encoder.Hop()
	codes, err := x.encoder.Encode(ctx, pcm[:len(pcm)/hop*hop])
	return codes, voiceError(err, ErrGenerate)
}

func (x *extractor) loadEncoder() error {
	if x.encoder != nil {
		return nil
	}
	config, err := codec.ReadEncoderConfig(x.tokenizer)
	if err != nil {
		return err
	}
	if d := x.decoder; config.Hop != d.Hop() || config.Codebooks != d.Codebooks() || config.CodebookSize != d.CodebookSize() {
		return fmt.Errorf("its encoder makes %d codes below %d of %d samples, its decoder reads %d below %d as %d samples",
			config.Codebooks, config.CodebookSize, config.Hop, d.Codebooks(), d.CodebookSize(), d.Hop())
	}
	x.encoder, err = codec.LoadEncoder(x.be, x.tokenizer, config)
	return err
}

// voiceError gives an error of the encoders its kind; rest is the kind of what is no other.
func voiceError(err, rest error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, speaker.ErrAbsent):
		return as(ErrMode, err)
	case errors.Is(err, speaker.ErrAudio), errors.Is(err, codec.ErrAudio):
		return as(ErrInvalid, err)
	case errors.Is(err, ggml.ErrMemory):
		return as(ErrMemory, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrClosed):
		return cancelled(err)
	}
	return as(rest, err)
}

func (x *extractor) free() {
	if x == nil {
		return
	}
	if x.encoder != nil {
		x.encoder.Free()
	}
	if x.speaker != nil {
		x.speaker.Free()
	}
}
