package main

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/tests/golden"
)

// figure is the first number that follows a label in a report.
func figure(t *testing.T, report, label string) float64 {
	t.Helper()
	m := regexp.MustCompile(label + `[^\d\n-]*(\d[\d.]*)`).FindStringSubmatch(report)
	require.NotNil(t, m, "%s in %s", label, report)
	x, err := strconv.ParseFloat(m[1], 64)
	require.NoError(t, err)
	return x
}

// TestReportOfATalker: the narrower the type, the further from the source; BF16 loses nothing of weights published so.
func TestReportOfATalker(t *testing.T) {
	src, dir := golden.GGUF(t, "tiny-customvoice-17", "F32"), t.TempDir()
	last := 1.1
	for _, typ := range []string{"BF16", "Q8_0", "Q4_K_M", "Q2_K"} {
		code, stdout, stderr := call(t, "--report", src, filepath.Join(dir, typ), typ)
		require.Zero(t, code, stderr)
		for _, want := range []string{"prefill_embeds", "prefill_layer2", "prefill_logits_last", "KL, nats", "same best code"} {
			assert.Contains(t, stdout, want)
		}
		hidden := figure(t, stdout, "hidden state +cosine")
		assert.Less(t, hidden, last, typ)
		last = hidden
		if typ == "BF16" {
			assert.Greater(t, hidden, .9999)
		}
	}
	assert.Less(t, last, .99)

	code, stdout, stderr := call(t, "--report", src, src)
	require.Zero(t, code, stderr)
	assert.Equal(t, 1., figure(t, stdout, "hidden state +cosine"))
	assert.Equal(t, 0., figure(t, stdout, "KL, nats"))
	assert.Equal(t, 100., figure(t, stdout, "same best code"))
}

func TestReportOfACodec(t *testing.T) {
	src, dir := golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), t.TempDir()
	last := math.Inf(1)
	for _, typ := range []string{"F16", "Q8_0", "Q4_K_M"} {
		code, stdout, stderr := call(t, "--report", "--report-audio", golden.Path(t, "audio", "speech_24k.wav"), src, filepath.Join(dir, typ), typ)
		require.Zero(t, code, stderr)
		db := figure(t, stdout, "decoder, SNR")
		assert.Less(t, db, last, typ)
		last = db
		assert.Greater(t, figure(t, stdout, "encoder, equal codes"), 30.)
	}
	code, stdout, stderr := call(t, "--report", src, filepath.Join(dir, "F16"))
	require.Zero(t, code, stderr)
	assert.Greater(t, figure(t, stdout, "decoder, SNR"), 40., "of the made-up voice")
}

func TestReportRefusals(t *testing.T) {
	src := golden.GGUF(t, "tiny-customvoice-17", "F32")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--report", src, golden.GGUF(t, "tiny-customvoice-06", "F32")}, cli.ExitUsage, "are not files of one model"},
		{[]string{"--report", src, golden.GGUF(t, "tiny-tokenizer-12hz", "F32")}, cli.ExitModel, "not the talker"},
		{[]string{"--report", "--report-speaker", "nobody", src, src}, cli.ExitUsage, "nobody"},
		{[]string{"--report", "--report-text", " ", src, src}, cli.ExitUsage, "text"},
		{[]string{"--report", filepath.Join(t.TempDir(), "none"), src}, cli.ExitIO, "no such"},
	} {
		code, stdout, stderr := call(t, c.args...)
		assert.Equal(t, c.code, code, "%q: %s", c.args, stderr)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, c.want)
	}
}

func TestMetrics(t *testing.T) {
	assert.Equal(t, 1., cosine([]float32{0, 0}, []float32{0, 0}))
	assert.InDelta(t, math.Sqrt(.5), cosine([]float32{1, 0}, []float32{2, 2}), 1e-9)
	assert.InDelta(t, 20, snr([]float32{1, 1}, []float32{1.1, .9}), 1e-5)
	assert.True(t, math.IsInf(snr([]float32{1}, []float32{1}), 1))
	assert.Zero(t, divergence([]float32{1, 2, 3}, []float32{1, 2, 3}))
	assert.InDelta(t, 0, divergence([]float32{1, 2, 3}, []float32{101, 102, 103}), 1e-9, "a constant changes nothing")
	ln := func(x float64) float32 { return float32(math.Log(x)) }
	assert.InDelta(t, .5*math.Log(.5/.25)+.5*math.Log(.5/.75), divergence([]float32{ln(.5), ln(.5)}, []float32{ln(.25), ln(.75)}), 1e-6)
	assert.Equal(t, fmt.Sprintf("%-24s %-18s %10.6f %10.6f %10.6f\n", "x", "y", 2., 1., 3.), (&spread{"x", "y", []float64{1, 2, 3}}).row(true))
}
