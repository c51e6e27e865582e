// Command qwen-info tells what model and voice files are, what they need, and why they would not load.
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
