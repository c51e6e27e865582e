// Package example is what the programs share: arguments, exit codes, WAV files.
package example

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"strconv"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
)

// Main runs a program with n arguments, and [SEED [FRAMES]] after them, until it ends or Ctrl-C stops it. The exit
// status is 0, 1 (it failed) or 2 (arguments).
func Main(n int, usage string, program func(ctx context.Context, args []string, limits func(*core.Request)) error) {
	args, limits, err := arguments(os.Args[1:], n)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\nusage: %s [SEED [FRAMES]]\n", err, usage)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := program(ctx, args, limits); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func arguments(args []string, n int) (own []string, limits func(*core.Request), err error) {
	if len(args) < n || len(args) > n+2 {
		return nil, nil, fmt.Errorf("%d arguments", len(args))
	}
	var numbers []int64
	for _, s := range args[n:] {
		x, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("%q is no whole number", s)
		}
		numbers = append(numbers, x)
	}
	return args[:n], func(req *core.Request) {
		if len(numbers) > 0 {
			req.Seed = numbers[0]
		}
		if len(numbers) > 1 {
			req.MaxFrames = int(max(0, min(numbers[1], math.MaxInt32)))
		}
	}, nil
}

// ReadClip reads a recording as a reference: audio of any kind, made mono at 24 kHz.
func ReadClip(path string) ([]float32, error) {
	clip, err := audio.Load(path)
	if err != nil {
		return nil, err
	}
	pcm, warnings, err := clip.Mono24k()
	for _, w := range warnings {
		fmt.Fprintf(os.Stderr, "%s: %s\n", path, w)
	}
	return pcm, err
}

// SpeakToFile writes what a request says to a WAV file of 16-bit samples.
func SpeakToFile(ctx context.Context, eng *core.Engine, req *core.Request, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(path) // half a file is worse than none
		}
	}()
	wav, err := audio.NewWriter(f, audio.WAV16, core.SampleRate)
	if err != nil {
		return err
	}
	res, err := eng.Synthesize(ctx, req, wav.Write)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %.2f s, seed %d\n", path, float64(res.Samples)/float64(res.SampleRate), res.Seed)
	return wav.Close()
}
