package speaker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// MaxSeconds is the longest clip that Embed takes. At the published size the weights take 46 MiB, and a call takes
// 1.8 MiB a second of the clip on the backend, 105 MiB for a minute, and gives them back.
const MaxSeconds = audio.MaxReferenceSeconds

// ErrAudio: the clip is too short, too long or has samples that are not finite.
var ErrAudio = errors.New("unsuitable audio")

// Encoder computes x-vectors. It holds the weights and does not change, but it must not be used concurrently with
// anything else on the same backend.
type Encoder struct {
	cfg     Config
	be      *ggml.Backend
	weights *nn.Weights
	net     network
}

// network is the layers below "spk_enc".
type network struct {
	Stem      TDNN    `gguf:"conv0" shape:"taps0,mel,channels"`
	Blocks    []Block // numbered from 1, each with its own taps
	Aggregate TDNN    `gguf:"mfa" shape:"1,blocks,aggregate"`
	Pooling   Pooling `gguf:"asp"`
	FC        Conv    `gguf:"fc" shape:"1,2aggregate,width"`
}

// Load brings the weights onto a backend, converted to F32. The file must stay open until Free. Errors name the tensor.
func Load(be *ggml.Backend, f *gguf.File, cfg Config) (*Encoder, error) {
	e := &Encoder{cfg: cfg, be: be}
	l := nn.NewLoader(be, f)
	l.Ignore("talker.")
	l.Ignore("code_pred.")
	err := e.net.load(l, &cfg)
	if err != nil {
		l.Abandon()
	} else {
		e.weights, err = l.Finish()
	}
	if err != nil {
		return nil, fmt.Errorf("speaker: %w", err)
	}
	return e, nil
}

func (n *network) load(l *nn.Loader, c *Config) error {
	dims := nn.Dims{
		"mel": audio.MelBands, "channels": c.Channels, "part": c.Channels / c.Scale, "squeeze": c.Squeeze, "taps0": c.Taps[0],
		"blocks": (len(dilations) - 1) * c.Channels, "aggregate": c.Aggregate, "2aggregate": 2 * c.Aggregate, "3aggregate": 3 * c.Aggregate,
		"attention": c.Attention, "width": c.Width,
	}
	n.Stem.window.dilation = dilations[0]
	if err := l.Load(n, "spk_enc", dims); err != nil {
		return err
	}
	n.Blocks = make([]Block, len(dilations)-1)
	for i := range n.Blocks {
		b := &n.Blocks[i]
		b.Res2Net.Convs = make([]TDNN, c.Scale-1)
		for j := range b.Res2Net.Convs {
			b.Res2Net.Convs[j].window.dilation = dilations[i+1]
		}
		dims["taps"] = c.Taps[i+1]
		if err := l.Load(b, fmt.Sprintf("spk_enc.blk.%d", i+1), dims); err != nil {
			return err
		}
	}
	return nil
}

// Free releases the weights.
func (e *Encoder) Free() {
	if e != nil {
		e.weights.Free()
	}
}

// Config is the encoder's geometry.
func (e *Encoder) Config() Config { return e.cfg }

// Width of the x-vector, that of the Talker.
func (e *Encoder) Width() int { return e.cfg.Width }

// Bytes of the weights. All are copies: none is used where it lies in the mapped file.
func (e *Encoder) Bytes() uint64 {
	_, copied := e.weights.Bytes()
	return copied
}

// MinSamples is the shortest clip that Embed takes: its reflection reaches as far as the widest convolution.
func (e *Encoder) MinSamples() int {
	frames := 1
	for i, taps := range e.cfg.Taps {
		_, after := window{taps, dilations[i]}.reach()
		frames = max(frames, after+1)
	}
	return max(frames*audio.MelHop, audio.MelMinSamples)
}

// Embed returns the x-vector [Width] of mono samples at 24 kHz, at least MinSamples and at most MaxSeconds of them. An
// error is ErrAudio if the samples are to blame, wraps ggml.ErrMemory if there is not enough for so long a clip, and is
// that of the context, which is asked before each of the two steps, the spectrogram and the network. Silence has an
// x-vector too, which means nothing.
func (e *Encoder) Embed(ctx context.Context, pcm []float32) ([]float32, error) {
	return e.Inspect(ctx, pcm, nil)
}

// Inspect is Embed, and hands the results of all stages to probe.
func (e *Encoder) Inspect(ctx context.Context, pcm []float32, probe Probe) ([]float32, error) {
	if err := e.checkLength(len(pcm)); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	mel, err := audio.Mel(pcm)
	if err != nil {
		return nil, fmt.Errorf("speaker: %w: %w", ErrAudio, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := e.build(len(mel)/audio.MelBands, probe != nil)
	if err != nil {
		return nil, fmt.Errorf("speaker: %w", err)
	}
	defer p.graph.Free()
	p.in.set(mel)
	if err := p.graph.Compute(); err != nil {
		return nil, fmt.Errorf("speaker: %w", err)
	}
	report(p.graph, probe)
	xvector := make([]float32, e.cfg.Width)
	p.xvector.GetF32(xvector)
	if slices.ContainsFunc(xvector, func(v float32) bool { return v-v != 0 }) {
		return nil, errors.New("speaker: the x-vector is not finite")
	}
	return xvector, nil
}

func (e *Encoder) checkLength(samples int) error {
	seconds := float64(samples) / audio.MelRate
	if samples < e.MinSamples() {
		return fmt.Errorf("speaker: %w: %d samples (%.3f s), at least %d (%.3f s) are needed", ErrAudio, samples, seconds,
			e.MinSamples(), float64(e.MinSamples())/audio.MelRate)
	}
	if samples > MaxSeconds*audio.MelRate {
		return fmt.Errorf("speaker: %w: %d samples (%.1f s), at most %d s are taken", ErrAudio, samples, seconds, MaxSeconds)
	}
	return nil
}
