// Command stream writes samples to stdout as soon as they are there: 16 bits, little-endian, mono, 24 kHz.
//
//	stream TALKER CODEC TEXT SPEAKER [SEED [FRAMES]] | aplay -f S16_LE -r 24000
package main

import (
	"context"
	"os"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/examples/go/internal/example"
)

func main() {
	example.Main(4, "stream TALKER CODEC TEXT SPEAKER", stream)
}

func stream(ctx context.Context, args []string, limits func(*core.Request)) error {
	eng, err := core.Open(core.Options{TalkerPath: args[0], CodecPath: args[1]})
	if err != nil {
		return err
	}
	defer eng.Close()

	req := eng.DefaultRequest()
	req.Text, req.Speaker = args[2], args[3]
	req.Stream = true
	limits(&req)
	out, err := audio.NewWriter(os.Stdout, audio.PCM, core.SampleRate)
	if err != nil {
		return err
	}
	if _, err := eng.Synthesize(ctx, &req, out.Write); err != nil {
		return err
	}
	return out.Close()
}
