package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/convert"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/cli"
)

// Exit codes by kind of failure, for scripts: those of qwen-tts and qwen-codec.
const (
	exitOK          = 0
	exitUsage       = 2   // how the command was called
	exitInput       = 4   // what the checkpoint holds
	exitIO          = 6   // reading or writing
	exitInterrupted = 130 // the shell's convention for SIGINT
)

const long = `Make the GGUF file of a Qwen3-TTS checkpoint directory: of a talker (Base, CustomVoice, VoiceDesign) or of the
12 Hz speech tokenizer, which talker directories hold in speech_tokenizer/. Speaking needs one file of each.

The type is that of the large matrices; vectors and codebooks stay F32, convolution kernels are F16 unless the type
is F32.

  F32    nothing is lost; the default
  BF16   half the size; talkers are published in it, so their matrices lose nothing
  F16    half the size
  Q8_0   about a quarter of the size, and the fastest

Exit codes: 0 done, 2 flags, 4 the checkpoint, 6 reading or writing, 130 stopped; no half-written file is left behind.`

// usageError marks a mistake in how the command was called.
type usageError struct{ error }

// run is the command: it returns the exit code. Results go to stdout, all else to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var typeName string
	var force bool
	cmd := &cobra.Command{
		Use:           "qwen-convert [--type F32|F16|BF16|Q8_0] [--force] CHECKPOINT_DIR OUT.gguf",
		Short:         "Make the GGUF file of a Qwen3-TTS checkpoint",
		Long:          long,
		Example:       "  qwen-convert --type Q8_0 Qwen3-TTS-12Hz-1.7B-CustomVoice talker.gguf\n  qwen-convert Qwen3-TTS-12Hz-1.7B-CustomVoice/speech_tokenizer tokenizer.gguf",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("CHECKPOINT_DIR and OUT.gguf expected, %d arguments given; see --help", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return convertTo(cmd.Context(), args[0], args[1], typeName, force, stderr)
		},
	}
	cmd.Flags().StringVarP(&typeName, "type", "t", "F32", "type of the large matrices: F32, F16, BF16 or Q8_0")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace OUT.gguf if it exists")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.SetVersionTemplate("libqwen {{.Version}}\n")
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		notef(stderr, "%v", err)
	}
	return exitCode(err)
}

// notef prints one line to stderr, whatever the message quotes.
func notef(stderr io.Writer, format string, args ...any) {
	line := strings.Join(strings.FieldsFunc(fmt.Sprintf(format, args...), func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	fmt.Fprintf(stderr, "qwen-convert: %s\n", line)
}

func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, convert.ErrInput):
		return exitInput
	}
	return exitIO
}

func convertTo(ctx context.Context, src, dst, typeName string, force bool, stderr io.Writer) error {
	t, err := gguf.ParseType(typeName)
	if err != nil || !convert.CanWrite(t) {
		return usageError{fmt.Errorf("--type %s: not one of F32, F16, BF16, Q8_0", typeName)}
	}
	if _, err := os.Lstat(dst); err == nil && !force {
		return usageError{fmt.Errorf("%s: exists; --force replaces it", dst)}
	}
	show, clear := cli.ByteBar(stderr)
	err = convert.ConvertContext(ctx, convert.Options{Src: src, Dst: dst, Type: t, Progress: show})
	clear()
	if err != nil {
		return err
	}
	codec := filepath.Join(src, "speech_tokenizer")
	if _, err := os.Stat(filepath.Join(codec, "config.json")); err == nil {
		notef(stderr, "%s is the talker only; convert %s too, for its codec", dst, codec)
	}
	return nil
}
