// Command tts-server speaks over HTTP, in the manner of OpenAI's API, with a Qwen3-TTS checkpoint in GGUF.
package main

import (
	"context"
	"os"

	"github.com/libqwen/libqwen/internal/cli"
)

// version is "<hash> (<date>)", set by the linker: -X main.version=…
var version string

func main() {
	cli.Main(func(ctx context.Context, args []string) int {
		return (&app{stdout: os.Stdout, stderr: os.Stderr}).run(ctx, args)
	})
}
