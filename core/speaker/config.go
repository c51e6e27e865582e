package speaker

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// ErrAbsent: the file has no speaker encoder; only those of base models do.
var ErrAbsent = errors.New("this model has no speaker encoder")

// dilations of the stem and of the blocks; the reference has them in its configuration, GGUF files do not tell.
var dilations = [...]int{1, 2, 3, 4}

// Config is the geometry of the speaker encoder.
type Config struct {
	Channels  int                 // of the stem and the blocks
	Taps      [len(dilations)]int // of the stem's convolution and of those inside the blocks
	Scale     int                 // parts that a block's channels are split into
	Squeeze   int                 // channels of the squeeze-excitation
	Aggregate int                 // channels of the aggregation
	Attention int                 // channels of the pooling's attention
	Width     int                 // of the x-vector
}

// Upper bounds that keep a damaged file from asking for absurd work; real models are far below.
const (
	maxTaps     = 63
	maxChannels = 1 << 16
)

// Names of the tensors start with prefix.
const prefix = "spk_enc."

// ReadConfig takes the geometry from the shapes of a file's tensors. The width must be the one that the metadata tells,
// as far as it does, for the encoder and for the Talker. The sample rate in the metadata counts for nothing: files say
// 16000, but all encoders were trained at 24000 Hz. An error is ErrAbsent if there is no encoder in the file.
func ReadConfig(f *gguf.File) (Config, error) {
	if err := present(f); err != nil {
		return Config{}, fmt.Errorf("speaker: %w", err)
	}
	s := &shapes{f: f}
	c := Config{
		Channels:  s.dim("conv0.weight", 2, maxChannels),
		Squeeze:   s.dim("blk.1.se.conv1.weight", 2, maxChannels),
		Aggregate: s.dim("mfa.weight", 2, maxChannels),
		Attention: s.dim("asp.tdnn.weight", 2, maxChannels),
		Width:     s.dim("fc.weight", 2, maxChannels),
	}
	c.Taps[0] = s.dim("conv0.weight", 0, maxTaps)
	for i := 1; i < len(c.Taps); i++ {
		c.Taps[i] = s.dim(fmt.Sprintf("blk.%d.res2net.0.weight", i), 0, maxTaps)
	}
	part := s.dim("blk.1.res2net.0.weight", 1, maxChannels)
	if bands := s.dim("conv0.weight", 1, maxChannels); s.err == nil && bands != audio.MelBands {
		s.fail("conv0.weight", "%d mel bands, want %d", bands, audio.MelBands)
	}
	if s.err == nil && (c.Channels%part != 0 || c.Channels == part) {
		s.fail("blk.1.res2net.0.weight", "%d channels do not split into parts of %d", c.Channels, part)
	}
	if s.err == nil {
		c.Scale = c.Channels / part
		s.err = checkWidth(f, c.Width)
	}
	if s.err != nil {
		return Config{}, fmt.Errorf("speaker: %w", s.err)
	}
	return c, nil
}

// present tells why there is no encoder, if so.
func present(f *gguf.File) error {
	if slices.ContainsFunc(f.Tensors(), func(t gguf.TensorInfo) bool { return strings.HasPrefix(t.Name, prefix) }) {
		return nil
	}
	switch kind, err := f.String("qwen3-tts.model_type"); {
	case err != nil:
		return fmt.Errorf("%w: the file has no tensors %s*", ErrAbsent, prefix)
	case kind == "base":
		return fmt.Errorf("%w: it is a base model, but the file lacks the tensors %s*", ErrAbsent, prefix)
	default:
		return fmt.Errorf("%w: it is a %s model, only base models have one", ErrAbsent, kind)
	}
}

// checkWidth compares the width of the x-vector with what the metadata tells of it.
func checkWidth(f *gguf.File, width int) error {
	for _, key := range []string{"qwen3-tts.spk_enc.embedding_length", "qwen3-tts.talker.embedding_length"} {
		if !f.Has(key) {
			continue
		}
		n, err := f.Int(key)
		if err == nil && n != width {
			err = fmt.Errorf("metadata %s: %d, but %sfc.weight makes vectors of %d", key, n, prefix, width)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shapes reads dimensions of tensors and remembers the first failure.
type shapes struct {
	f   *gguf.File
	err error
}

func (s *shapes) fail(name, format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%s%s: %w", prefix, name, fmt.Errorf(format, args...))
	}
}

// dim is dimension i, ggml order, of a convolution's kernel [K, C in, C out]; 0 after a failure.
func (s *shapes) dim(name string, i, limit int) int {
	t := s.f.Tensor(prefix + name)
	switch {
	case t == nil:
		s.fail(name, "missing")
	case len(t.Shape) != 3 || t.Shape[i] < 1 || t.Shape[i] > int64(limit):
		s.fail(name, "shape %s is not that of this model", gguf.FormatShape(t.Shape))
	default:
		return int(t.Shape[i])
	}
	return 0
}
