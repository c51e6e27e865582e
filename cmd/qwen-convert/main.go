// Command qwen-convert makes the GGUF file of a Qwen3-TTS checkpoint directory.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is "<hash> (<date>)", set by the linker: -X main.version=…
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
