// Command hello speaks a sentence to a file: hello TALKER CODEC TEXT SPEAKER OUT.wav [SEED [FRAMES]]
package main

import (
	"context"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/examples/go/internal/example"
)

func main() {
	example.Main(5, "hello TALKER CODEC TEXT SPEAKER OUT.wav", hello)
}

func hello(ctx context.Context, args []string, limits func(*core.Request)) error {
	eng, err := core.Open(core.Options{TalkerPath: args[0], CodecPath: args[1]})
	if err != nil {
		return err
	}
	defer eng.Close()

	req := eng.DefaultRequest()
	req.Text, req.Speaker = args[2], args[3]
	limits(&req)
	return example.SpeakToFile(ctx, eng, &req, args[4])
}
