package lm_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// Tests on another device than the CPU: `make test-vulkan` names one. A software device takes a second for a frame or
// two, so there is one case of each kind, and few frames.

// deviceCases are golden cases of both sizes, with each kind of row in the prompt.
var deviceCases = []string{"cv17_auto_dylan", "base06_xvec_stream", "base17_icl_textshort_stream"}

// deviceFrames is how many of a case's frames are computed.
const deviceFrames = 2

func eachDeviceCase(t *testing.T, f func(t *testing.T, c golden.Case, z *golden.Arrays)) {
	for _, name := range deviceCases {
		t.Run(name, func(t *testing.T) { f(t, golden.Cases(t)[name], golden.Load(t, name)) })
	}
}

func TestDeviceStages(t *testing.T) {
	be := testenv.Device(t)
	eachDeviceCase(t, func(t *testing.T, c golden.Case, z *golden.Arrays) {
		compared := 0
		m := load(t, be, c.Model, "F32")
		t.Log(m.Describe())
		for stage, got := range m.teacherForced(t, c, z, deviceFrames) {
			if z.Has(stage) && stage != "cp_lastframe_logits" {
				want, _ := z.F32(stage)
				golden.Check(t, "gpu/"+stage, got, want[:min(len(got), len(want))])
				compared++
			}
		}
		assert.GreaterOrEqual(t, compared, 8)
	})
}

// deviceGap is leastGap for devices that may round factors to F16.
const deviceGap = 1e-2

func TestDeviceCodesEqualTheReference(t *testing.T) {
	be := testenv.Device(t)
	compared := 0
	eachDeviceCase(t, func(t *testing.T, c golden.Case, z *golden.Arrays) {
		c.Frames = min(c.Frames, deviceFrames)
		got, _ := load(t, be, c.Model, "F32").free(t, c, z)
		want := frames(z, "codes")[:len(got)]
		if min(c.MinGapCodec0, c.MinGapAcoustic) >= deviceGap {
			assert.Equal(t, want, got)
			compared++
			return
		}
		t.Logf("a near tie (%g): %v", min(c.MinGapCodec0, c.MinGapAcoustic), slices.EqualFunc(got, want, slices.Equal))
	})
	assert.Positive(t, compared)
}

// TestDeviceFileTypes: every type of weights works on the device, and is as close to the reference as on the CPU.
func TestDeviceFileTypes(t *testing.T) {
	be := testenv.Device(t)
	const name = "cv17_auto_dylan"
	c, z := golden.Cases(t)[name], golden.Load(t, name)
	for _, typ := range []string{"BF16", "Q8_0"} {
		got := load(t, be, c.Model, typ).teacherForced(t, c, z, 0)["prefill_logits_last"]
		want := load(t, testenv.CPU(t, 1), c.Model, typ).teacherForced(t, c, z, 0)["prefill_logits_last"]
		assert.Greater(t, golden.Cosine(got, want), 0.9995, typ)
		t.Logf("%s: cosine %.6f with the CPU", typ, golden.Cosine(got, want))
	}
}

// TestDeviceFlashAttention: a device that has flash attention, with which the other tests run, is as close to the
// reference without it, and stays close with keys and values in Q8_0.
func TestDeviceFlashAttention(t *testing.T) {
	be := testenv.Device(t)
	const name = "cv17_auto_dylan"
	c, z := golden.Cases(t)[name], golden.Load(t, name)
	rounded := gguf.Q8_0
	for stage, opts := range map[string]lm.Options{"gpu/talker_hidden": {NoFlash: true}, "gpu_q8_0_cache/talker_hidden": {Cache: &rounded}} {
		m := loadWith(t, be, c.Model, "F32", opts)
		assert.Equal(t, !opts.NoFlash, m.Talker.Flash && m.Predictor.Flash, m.Describe())
		got := m.teacherForced(t, c, z, 1)["talker_hidden"]
		want, _ := z.F32("talker_hidden")
		golden.Check(t, stage, got, want[:len(got)])
	}
	f, err := model.Open(golden.GGUF(t, c.Model, "F32"), lm.Architecture, "talker")
	require.NoError(t, err)
	defer f.Close()
	_, err = lm.Load(be, f, lm.Options{Cache: &rounded, NoFlash: true})
	assert.ErrorIs(t, err, lm.ErrCache)
}

// TestDeviceLanes: lanes computed together have on a device, too, the logits that they have alone, closely: kernels for
// several columns may round otherwise than those for one.
func TestDeviceLanes(t *testing.T) {
	m := load(t, testenv.Device(t), "tiny-customvoice-06", "F32").Model
	alone, beside := sequences(m, 3), sequences(m, 3)
	for i := range alone {
		alone[i].frames, beside[i].frames = 2, 2
		alone[i].alone(t, m)
	}
	together(t, m, beside, 3)
	compared := 0
	for i, s := range alone {
		for frame, want := range s.logits {
			assert.Greater(t, cosine(want, beside[i].logits[frame]), .9999, "sequence %d, frame %d", i, frame)
			compared++
			if !slices.Equal(s.codes[frame], beside[i].codes[frame]) {
				break // a near tie: another history from here on
			}
		}
	}
	assert.Greater(t, compared, 3)
}
