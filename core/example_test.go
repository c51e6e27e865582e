package core_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/tests/golden"
)

// models are the files of a tiny talker and codec. Programs name their own.
func models(talker string) (talkerPath, codecPath string) {
	if os.Getenv(ggml.EnvDir) == "" {
		os.Setenv(ggml.EnvDir, "../.ggml")
	}
	talkerPath, err := golden.Converted(talker, "F32")
	if err != nil {
		log.Fatal(err)
	}
	codecPath, err = golden.Converted("tiny-tokenizer-12hz", "F32")
	if err != nil {
		log.Fatal(err)
	}
	return talkerPath, codecPath
}

// A sentence, in one piece.
func Example() {
	talker, codec := models("tiny-customvoice-17")
	eng, err := core.Open(core.Options{TalkerPath: talker, CodecPath: codec, Threads: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	req := eng.DefaultRequest()
	req.Text, req.Speaker = "Hello world.", "vivian"
	req.Seed, req.MaxFrames = 7, 6 // 6 frames of 80 ms are enough for an example

	var speech []float32
	res, err := eng.Synthesize(context.Background(), &req, func(pcm []float32) error {
		speech = append(speech, pcm...)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d samples at %d Hz: %s\n", len(speech), res.SampleRate, res.Finish)
	// Output: 11520 samples at 24000 Hz: length
}

// Each frame is played as soon as it is generated, until the listener has heard enough.
func ExampleEngine_Synthesize_streaming() {
	talker, codec := models("tiny-customvoice-17")
	eng, err := core.Open(core.Options{TalkerPath: talker, CodecPath: codec, Threads: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	req := eng.DefaultRequest()
	req.Text, req.Speaker = "Hello world.", "vivian"
	req.Stream, req.Seed = true, 7

	errEnough := errors.New("enough")
	heard := 0
	_, err = eng.Synthesize(context.Background(), &req, func(pcm []float32) error {
		if heard++; heard == 3 {
			return errEnough
		}
		fmt.Println("play", len(pcm), "samples")
		return nil
	})
	fmt.Println(errors.Is(err, core.ErrCancelled), errors.Is(err, errEnough))
	// Output:
	// play 1920 samples
	// play 1920 samples
	// true true
}

// A voice is taken from a recording once, for any number of texts.
func ExampleEngine_ExtractVoice() {
	talker, codec := models("tiny-base-17")
	eng, err := core.Open(core.Options{TalkerPath: talker, CodecPath: codec, Threads: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	recording := make([]float32, core.SampleRate) // mono, 24 kHz; package audio reads files
	for i := range recording {
		recording[i] = 0.3 * float32(math.Sin(2*math.Pi*200*float64(i)/core.SampleRate))
	}
	voice, err := eng.ExtractVoice(context.Background(), recording)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d frames of %d codes\n", len(voice.Codes), eng.NumCodebooks())

	req := eng.DefaultRequest()
	req.Text, req.Voice, req.RefText = "Hello world.", voice, "What is said in the recording."
	req.Seed, req.MaxFrames = 7, 6
	res, err := eng.Synthesize(context.Background(), &req, func([]float32) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Frames, "frames of speech")
	// Output:
	// 12 frames of 16 codes
	// 6 frames of speech
}
