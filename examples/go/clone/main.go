// Command clone speaks in the voice of a recording: clone TALKER CODEC TEXT CLIP TRANSCRIPT OUT.wav [SEED [FRAMES]]
package main

import (
	"context"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/examples/go/internal/example"
)

func main() {
	example.Main(6, "clone TALKER CODEC TEXT CLIP TRANSCRIPT OUT.wav", clone)
}

func clone(ctx context.Context, args []string, limits func(*core.Request)) error {
	clip, err := example.ReadClip(args[3])
	if err != nil {
		return err
	}
	eng, err := core.Open(core.Options{TalkerPath: args[0], CodecPath: args[1]})
	if err != nil {
		return err
	}
	defer eng.Close()

	voice, err := eng.ExtractVoice(ctx, clip) // for this text and any other
	if err != nil {
		return err
	}
	req := eng.DefaultRequest()
	req.Text, req.Voice = args[2], voice
	if req.RefText = args[4]; req.RefText == "" {
		voice.Codes = nil // only with the transcript the model continues the recording
	}
	limits(&req)
	return example.SpeakToFile(ctx, eng, &req, args[5])
}
