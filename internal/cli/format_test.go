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
	} {
		f, err := OutputFormat(c.flag, c.output)
		require.NoError(t, err, c)
		assert.Equal(t, c.want, f, c)
	}
	for _, c := range []struct{ flag, output, want string }{
		{"aac", "a.wav", `--format: audio format "aac" is not written: choose one of mp3`}, {"", "a.m4a", "-o a.m4a: .m4a files are not written"},
		{"wav", "a.m4a", ".m4a files are not written"}, {"pcm", "a.wav", "the name says wav16, --format says pcm"},
		{"wav", "a.pcm", "the name says pcm, --format says wav16"}, {"mp3", "a.opus", "says opus, --format says mp3"}, {"mp3", "a.ogg", "says vorbis"},
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
