package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/libqwen/libqwen/core"
)

// selfTest loads the models, encodes a tone and decodes its codes.
func (a *app) selfTest(ctx context.Context) error {
	start := time.Now()
	c, err := a.open()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := a.tell("load     %d codebooks of %d, %d samples a frame, %s", c.Codebooks(), c.CodebookSize(), c.Hop(), since(start)); err != nil {
		return err
	}
	pcm := glide(25 * c.Hop())
	codes := anyCodes(c)
	if c.Encodes() {
		if codes, err = a.testEncoder(ctx, c, pcm); err != nil {
			return fmt.Errorf("self-test: encoder: %w", err)
		}
	}
	if err := a.testDecoder(ctx, c, codes); err != nil {
		return fmt.Errorf("self-test: decoder: %w", err)
	}
	if a.options.models.TalkerPath != "" {
		if err := a.testSpeaker(ctx, c, pcm); err != nil {
			return fmt.Errorf("self-test: speaker encoder: %w", err)
		}
	}
	return a.tell("ok")
}

func (a *app) testEncoder(ctx context.Context, c *core.Codec, pcm []float32) ([][]int32, error) {
	start := time.Now()
	codes, err := c.Encode(ctx, pcm)
	if err != nil {
		return nil, err
	}
	distinct := map[string]bool{}
	for _, frame := range codes {
		distinct[fmt.Sprint(frame)] = true
	}
	if len(distinct) < 2 {
		return nil, errors.New("all frames of a gliding tone have the same codes; the file is damaged")
	}
	return codes, a.tell("encoder  %.2f s of a gliding tone: %d frames, %d of them distinct, %s", seconds(len(pcm)), len(codes), len(distinct), since(start))
}

func (a *app) testDecoder(ctx context.Context, c *core.Codec, codes [][]int32) error {
	start := time.Now()
	samples, peak, square := 0, 0.0, 0.0
	err := c.Decode(ctx, codes, func(pcm []float32) error {
		samples += len(pcm)
		for _, x := range pcm {
			peak = math.Max(peak, math.Abs(float64(x))) // NaN stays
			square += float64(x) * float64(x)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case samples != len(codes)*c.Hop():
		return fmt.Errorf("%d samples of %d frames", samples, len(codes))
	case !(peak > 0) || math.IsInf(peak, 0): // also NaN
		return fmt.Errorf("the audio is silent or not finite (peak %v)", peak)
	}
	return a.tell("decoder  %d samples, peak %.1f dBFS, RMS %.1f dBFS, %s", samples, decibels(peak), decibels(math.Sqrt(square/float64(samples))), since(start))
}

func (a *app) testSpeaker(ctx context.Context, c *core.Codec, pcm []float32) error {
	start := time.Now()
	x, err := c.Embed(ctx, pcm)
	if err != nil {
		return err
	}
	square := 0.0
	for _, v := range x {
		square += float64(v) * float64(v)
	}
	if !(square > 0) || math.IsInf(square, 0) {
		return fmt.Errorf("the vector is zero or not finite (length %v)", math.Sqrt(square))
	}
	return a.tell("speaker  vector of %d values, length %.3f, %s", len(x), math.Sqrt(square), since(start))
}

// anyCodes are 25 frames of codes, for a decoder that has no encoder.
func anyCodes(c *core.Codec) [][]int32 {
	codes := make([][]int32, 25)
	for t := range codes {
		codes[t] = make([]int32, c.Codebooks())
		for k := range codes[t] {
			codes[t][k] = int32((t*131 + k*71) % c.CodebookSize())
		}
	}
	return codes
}

// glide is a tone that rises from 150 Hz to 3 kHz and swells four times a second, as syllables do.
func glide(samples int) []float32 {
	const low, high = 150.0, 3000.0
	pcm := make([]float32, samples)
	phase := 0.0
	for i := range pcm {
		at := float64(i) / float64(samples)
		phase += 2 * math.Pi * low * math.Pow(high/low, at) / core.SampleRate
		swell := math.Sin(math.Pi * 4 * float64(i) / core.SampleRate)
		pcm[i] = float32(0.5 * math.Sin(phase) * swell * swell)
	}
	return pcm
}

func decibels(amplitude float64) float64 { return 20 * math.Log10(amplitude) }

func since(start time.Time) string { return time.Since(start).Round(time.Millisecond).String() }
