// Command qwen-tts speaks text: a Qwen3-TTS checkpoint in GGUF and text in, a WAV file or stream out.
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
		return (&app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}).run(ctx, args)
	})
}
