package codec

import (
	"context"
	"strconv"
	"testing"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tests on another device than the CPU: `make test-vulkan` names one.

func deviceDecoder(t *testing.T, typ string) *Decoder {
	t.Helper()
	be := testenv.Device(t)
	f, err := gguf.Open(golden.GGUF(t, "tiny-tokenizer-12hz", typ))
	require.NoError(t, err)
	d, err := loadOn(t, be, f, kernels.Best()) // which the device does not have
	require.NoError(t, err)
	return d
}

func TestDeviceStages(t *testing.T) {
	d := deviceDecoder(t, "F32")
	want := golden.Load(t, "codec_dec_stages_T4")
	s, err := d.NewTappedStream(0)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	golden.Check(t, "gpu/wav", decode(t, s, frames(want), 4), values(want.F32("wav")))
	checked := 0
	for _, tap := range s.Taps() {
		if want.Has(tap.Name) {
			golden.Check(t, "gpu/"+tap.Name, tap.Data, values(want.F32(tap.Name)))
			checked++
		}
	}
	assert.Greater(t, checked, 10)
}

// deviceSeam is how close pieces must be to the whole on one device, dB: wide graphs and narrow ones may use kernels
// that round differently.
const deviceSeam = 45

func TestDevicePiecesMakeTheWhole(t *testing.T) {
	d := deviceDecoder(t, "F32")
	want := golden.Load(t, "codec_dec_wavs")
	codes := frames(want)[:7]
	whole := decode(t, newStream(t, d, 4), codes, 7)
	golden.Check(t, "gpu/wav_T7", whole, values(want.F32("wav_T7")))
	pieces := decode(t, newStream(t, d, 1), codes, 1)
	snr := golden.SNR(pieces, whole)
	assert.Greater(t, snr, float64(deviceSeam))
	t.Logf("frame by frame: %.1f dB", snr)
}

func TestDeviceStreamGoesOnFromASnapshot(t *testing.T) {
	d := deviceDecoder(t, "F32")
	codes := frames(golden.Load(t, "codec_dec_wavs"))
	s := newStream(t, d, 0)
	decode(t, s, codes[:4], 4)
	snapshot := s.Snapshot()
	want := decode(t, s, codes[4:6], 2)
	s.Reset()
	s.Restore(snapshot)
	assert.Equal(t, want, decode(t, s, codes[4:6], 2))
}

// TestDeviceEncoder: nearest neighbours do not forgive much, so there may be a few other codes than the reference's.
func TestDeviceEncoder(t *testing.T) {
	be := testenv.Device(t)
	f, err := gguf.Open(golden.GGUF(t, "tiny-tokenizer-12hz", "F32"))
	require.NoError(t, err)
	e, err := loadEncoderOn(t, be, f)
	require.NoError(t, err)
	for _, name := range []string{"half_frame"} {
		want := golden.Load(t, "codec_enc_"+name)
		codes, taps, err := e.EncodeTapped(context.Background(), encoderInput(t, want, name))
		require.NoError(t, err)
		for _, tap := range taps {
			if want.Has(tap.Name) {
				golden.Check(t, "gpu/"+tap.Name, tap.Data, values(want.F32(tap.Name)))
			}
		}
		equal, all := 0, 0
		for i, frame := range frames(want) {
			for k, id := range frame {
				all++
				if codes[i][k] == id {
					equal++
				}
			}
		}
		t.Logf("%s: %d of %d codes are the reference's", name, equal, all)
		assert.GreaterOrEqual(t, equal, all*9/10, name)
	}
}

func TestDeviceFileTypes(t *testing.T) {
	want := golden.Load(t, "codec_dec_wavs")
	for typ, least := range map[string]float64{"Q8_0": 20} {
		d := deviceDecoder(t, typ)
		snr := golden.SNR(decode(t, newStream(t, d, 0), frames(want)[:1], 1), values(want.F32("wav_T1")))
		assert.Greater(t, snr, least, typ)
		t.Log(typ + ": " + strconv.FormatFloat(snr, 'f', 1, 64) + " dB")
	}
}
