// Command qwen-tts speaks text: a Qwen3-TTS checkpoint in GGUF and text in, a WAV file or stream out.
package main

import (
	"os"
)

func main() {
	ctx, stop := interruptible()
	code := (&app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}).run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
