//go:build cgo

package main

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
)

func TestPCMBufferKeepsEverySample(t *testing.T) {
	var b pcmBuffer
	defer b.free()
	var want []float32
	for i := range 300 {
		chunk := make([]float32, i*7%41)
		for j := range chunk {
			chunk[j] = float32(len(want) + j)
		}
		want = append(want, chunk...)
		require.NoError(t, b.append(chunk))
	}
	audio := b.take()
	require.EqualValues(t, len(want), audio.n_samples)
	assert.EqualValues(t, core.SampleRate, audio.sample_rate)
	assert.EqualValues(t, 1, audio.channels)
	assert.Equal(t, want, unsafe.Slice((*float32)(audio.samples), len(want)))
	cFree(audio.samples)
	assert.Zero(t, b)
}

func TestPCMBufferEmpty(t *testing.T) {
	var b pcmBuffer
	require.NoError(t, b.append(nil))
	audio := b.take()
	assert.Nil(t, audio.samples)
	assert.Zero(t, audio.n_samples)
}

func TestPCMBufferRefusesWhatCannotBeCounted(t *testing.T) {
	b := pcmBuffer{n: 1<<31 - 2}
	assert.ErrorIs(t, b.append(make([]float32, 2)), core.ErrMemory)
}

func TestDeviceNamesAreCutAtCharacters(t *testing.T) {
	long := ""
	for range 40 {
		long += "é€"
	}
	d := newDevice(core.DeviceInfo{Name: long, Description: "short", Type: "gpu", MemoryFree: 1, MemoryTotal: 2})
	n := 0
	for ; d.name[n] != 0; n++ {
	}
	assert.Equal(t, 62, n) // 12 pairs of 5 bytes and an é; 63 would cut the €
	got := string(unsafe.Slice((*byte)(unsafe.Pointer(&d.name[0])), n))
	assert.Equal(t, long[:n], got)
	assert.EqualValues(t, 1, d._type)
	for i, name := range []string{"cpu", "gpu", "integrated gpu", "accelerator", "something new"} {
		assert.EqualValues(t, i, deviceType(name))
	}
}

func TestNewVoiceTransposesCodes(t *testing.T) {
	voice := &core.Voice{XVector: []float32{1, 2, 3}, Codes: [][]int32{{1, 2}, {3, 4}, {5, 6}}}
	out, err := newVoice(voice, 2)
	require.NoError(t, err)
	defer cFree(out.ref_spk_emb)
	defer cFree(out.ref_codes)
	assert.Equal(t, []int32{1, 3, 5, 2, 4, 6}, unsafe.Slice((*int32)(out.ref_codes), 6))
	assert.Equal(t, []float32{1, 2, 3}, unsafe.Slice((*float32)(out.ref_spk_emb), 3))
	assert.EqualValues(t, 3, out.ref_spk_dim)
	assert.EqualValues(t, 3, out.ref_T)
	assert.EqualValues(t, 2, out.num_codebooks)
}
