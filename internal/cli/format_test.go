package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/audio"
)

func TestOutputFormat(t *testing.T) {
	for _, c := range []struct {
		flag, output string
		want         audio.Format
	}{
		{"", "a.wav", audio.WAV16}, {"", "-", audio.WAV16}, {"", "", audio.WAV16}, {"wav24", "a.wav", audio.WAV24}, {"pcm", "-", audio.PCM},
		{"wav32", "out", audio.WAV32}, {"", "a.raw", audio.PCM}, {"pcm", "out.bin", audio.PCM}, {"WAV", "a.WAV", audio.WAV16},
		{"", "out", audio.WAV16}, {"", "dir.txt/out", audio.WAV16}, {"wav", "a.txt", audio.WAV16}, {"pcm", "a.wav", audio.PCM}, {"wav", "a.mp3", audio.WAV16},
	} {
		f, err := OutputFormat(c.flag, c.output)
		require.NoError(t, err, c)
		assert.Equal(t, c.want, f, c)
	}
	for _, c := range []struct{ flag, output, want string }{
		{"aac", "a.wav", `--format: audio format "aac" is not written: choose one of mp3`},
		{"", "a.m4a", "-o a.m4a: .m4a files are not written: choose one of .wav, .mp3, .opus, .flac, .ogg, .pcm; --format writes under any name"},
		{"", "a.txt", "-o a.txt: .txt files are not written: choose one of .wav"}, {"", "a.wav.part", ".part files are not written"},
	} {
		_, err := OutputFormat(c.flag, c.output)
		assert.ErrorContains(t, err, c.want)
		assert.Equal(t, ExitUsage, ExitCode(t.Context(), err))
	}
	if audio.Opus.Check() == nil {
		f, err := OutputFormat("opus", "a.ogg")
		require.NoError(t, err)
		assert.Equal(t, audio.Opus, f)
	}
}
