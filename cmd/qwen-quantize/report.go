package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/libqwen/libqwen/convert"
	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/cli"
)

// reportFrames is how many frames a report looks at.
const reportFrames = 24

// report runs two files of one model on the same input and prints how far the second is from the first.
func (a *app) report(ctx context.Context, src, dst string) error {
	f, _, err := a.open(src)
	if err != nil {
		return err
	}
	talker := convert.IsTalker(f)
	f.Close()
	if talker {
		return a.reportTalker(ctx, src, dst)
	}
	return a.reportCodec(ctx, src, dst)
}

// reportTalker compares stages and logits. Both files see the codes that the source draws.
func (a *app) reportTalker(ctx context.Context, src, dst string) error {
	o := a.options
	req := core.Request{Text: o.reportText, Speaker: o.reportSpeaker, Instruct: o.reportInstruct}
	want, err := core.TraceTalker(ctx, a.source(src), req, reportFrames, nil)
	if err != nil {
		return err
	}
	got, err := core.TraceTalker(ctx, a.core(dst), req, 0, want.Codes)
	if err != nil {
		return err
	}
	if !alike(want, got) {
		return cli.Inputf("%s and %s are not files of one model", src, dst)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%-24s %10s\n", "prefill", "cosine")
	for i, s := range want.Prefill {
		fmt.Fprintf(&out, "%-24s %10.6f\n", s.Name, cosine(s.Values, got.Prefill[i].Values))
	}
	hidden := newSpread("hidden state", "cosine")
	logits, acoustic := newScores("logits of codebook 0"), newScores("logits of the others")
	for i := range want.Hidden {
		hidden.add(cosine(want.Hidden[i], got.Hidden[i]))
		logits.add(want.Logits[i], got.Logits[i])
		for k := range want.Acoustic[i] {
			acoustic.add(want.Acoustic[i][k], got.Acoustic[i][k])
		}
	}
	fmt.Fprintf(&out, "\n%-24s %-18s %10s %10s %10s\n", fmt.Sprintf("%d frames", len(want.Codes)), "", "mean", "best", "worst")
	out.WriteString(hidden.row(false) + logits.rows() + acoustic.rows())
	return a.tell("%s", strings.TrimSuffix(out.String(), "\n"))
}

// alike tells whether two traces have the same stages of the same sizes.
func alike(a, b *core.Trace) bool {
	if len(a.Prefill) != len(b.Prefill) || len(a.Hidden) != len(b.Hidden) || len(a.Acoustic) != len(b.Acoustic) {
		return false
	}
	for i := range a.Prefill {
		if len(a.Prefill[i].Values) != len(b.Prefill[i].Values) {
			return false
		}
	}
	return true
}

// reportCodec compares what the decoders make of the codes of a clip, and the codes that the encoders make of it.
func (a *app) reportCodec(ctx context.Context, src, dst string) error {
	clip, err := a.reportClip()
	if err != nil {
		return err
	}
	want, err := a.codec(ctx, src, clip, nil)
	if err != nil {
		return err
	}
	got, err := a.codec(ctx, dst, clip, want.codes)
	if err != nil {
		return err
	}
	if len(got.codes) != len(want.codes) || len(got.codes[0]) != len(want.codes[0]) || len(got.pcm) != len(want.pcm) {
		return cli.Inputf("%s and %s are not files of one model", src, dst)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%-24s %10.1f dB\n", "decoder, SNR", snr(want.pcm, got.pcm))
	same, first := 0, 0
	for i, frame := range want.codes {
		for k, c := range frame {
			if got.codes[i][k] == c {
				same++
				if k == 0 {
					first++
				}
			}
		}
	}
	n := len(want.codes)
	fmt.Fprintf(&out, "%-24s %10.1f %%\n", "encoder, equal codes", 100*float64(same)/float64(n*len(want.codes[0])))
	fmt.Fprintf(&out, "%-24s %10.1f %%", "  of codebook 0", 100*float64(first)/float64(n))
	return a.tell("%s", out.String())
}

// coded is what a codec makes of a clip.
type coded struct {
	codes [][]int32
	pcm   []float32
}

// codec encodes a clip and decodes codes, or those that came out if none are given.
func (a *app) codec(ctx context.Context, path string, clip []float32, codes [][]int32) (*coded, error) {
	o := a.core("")
	o.CodecPath = path
	c, err := core.OpenCodec(o)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	out := &coded{}
	if out.codes, err = c.Encode(ctx, clip); err != nil {
		return nil, err
	}
	if codes == nil {
		codes = out.codes
	}
	err = c.Decode(ctx, codes, func(pcm []float32) error {
		out.pcm = append(out.pcm, pcm...)
		return nil
	})
	return out, err
}

// reportClip is the recording that was named, or two seconds of a made-up voice: a buzz whose pitch and brightness move.
func (a *app) reportClip() ([]float32, error) {
	if a.options.reportAudio != "" {
		return cli.ReadClip(a.console, a.options.reportAudio, "", false)
	}
	x := make([]float32, 2*core.SampleRate)
	phase := 0.
	for i := range x {
		t := float64(i) / core.SampleRate
		pitch := 120 + 40*math.Sin(2*math.Pi*.7*t)
		phase += 2 * math.Pi * pitch / core.SampleRate
		formant := 900 + 600*math.Sin(2*math.Pi*1.9*t)
		for h := 1; float64(h)*pitch < 8000; h++ {
			d := (float64(h)*pitch - formant) / 700
			x[i] += float32(.2 / float64(h) * (1 + 4*math.Exp(-d*d)) * math.Sin(float64(h)*phase))
		}
		x[i] *= float32(.5 * (1 - math.Cos(2*math.Pi*3*t))) // syllables
	}
	return x, nil
}

// source are the options for IN.gguf.
func (a *app) source(talker string) core.Options {
	o := a.core(talker)
	o.PredictorPath, o.TokenizerPath, o.Mode = a.options.predictor, a.options.tokenizer, core.Mode(a.options.mode)
	return o
}

func (a *app) core(talker string) core.Options {
	return core.Options{TalkerPath: talker, Threads: a.options.threads, Logger: a.console.Logger()}
}
