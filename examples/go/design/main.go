// Command design speaks in a voice that is described: design TALKER CODEC TEXT DESCRIPTION OUT.wav [SEED [FRAMES]]
package main

import (
	"context"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/examples/go/internal/example"
)

func main() {
	example.Main(5, "design TALKER CODEC TEXT DESCRIPTION OUT.wav", design)
}

func design(ctx context.Context, args []string, limits func(*core.Request)) error {
	eng, err := core.Open(core.Options{TalkerPath: args[0], CodecPath: args[1]})
	if err != nil {
		return err
	}
	defer eng.Close()

	req := eng.DefaultRequest()
	req.Text, req.Instruct = args[2], args[3]
	limits(&req)
	return example.SpeakToFile(ctx, eng, &req, args[4])
}
