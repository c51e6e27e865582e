package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/cli"
)

const about = `Encodes a recording to codes (clip.wav -> clip.rvq), decodes codes (clip.rvq -> clip.wav), and extracts voices.
Output is named after the input and lies next to it; what has that name is replaced. Without -i the codec is tested.`

// options are the flags as given.
type options struct {
	models                core.Options
	input, output, format string
	voice, refText, check string
	noClobber, trim, json bool
	verbose               bool
}

// newFlags declares all flags, in the order of the help.
func newFlags(o *options) cli.Flags {
	var flags cli.Flags
	f := flags.Group("Required")
	f.StringVar(&o.models.CodecPath, "model", "", "codec `GGUF` (qwen-tokenizer-*.gguf), or an ONNX vocoder (.onnx), which only decodes; --check needs none")

	f = flags.Group("Input and output")
	f.StringVarP(&o.input, "input", "i", "", "`file` to encode (WAV, FLAC, MP3, Ogg, AIFF, CAF …) or to decode (.rvq, .qvoice)")
	f.StringVarP(&o.output, "output", "o", "", "`file` to write instead: a .rvq, with a .spk beside it, or audio; '-' streams to stdout")
	f.StringVar(&o.format, "format", "", "`format` of audio, whatever -o is called (default: by its ending, wav without one): mp3, opus, flac, vorbis, wav, wav24, wav32 (float), pcm")
	f.BoolVar(&o.noClobber, "no-clobber", false, "fail where a file would be replaced")

	f = flags.Group("Voices")
	f.StringVar(&o.models.TalkerPath, "talker", "", "talker `GGUF` (Base); encoding then writes the speaker's vector, too: clip.spk")
	f.StringVar(&o.voice, "voice", "", "write one `file` (.qvoice) with all of the voice instead of .rvq and .spk; needs --talker")
	f.StringVar(&o.refText, "ref-text", "", "`file` with the transcript of the recording, for --voice and --check")
	f.BoolVar(&o.trim, "trim-ref", false, "cut off silence and fades at both ends of the recording, at most 40 % of it")
	f.StringVar(&o.check, "check", "", "tell what a recording or .qvoice `file` is worth as a reference, and write nothing")
	f.BoolVar(&o.json, "json", false, "print what --check finds as JSON")

	f = flags.Group("Machine")
	cli.MachineFlags(f, &o.models, "--model")

	flags.Information(&o.verbose, "what is loaded")
	return flags
}

// newCommand returns the command; it calls run with the parsed options.
func newCommand(run func(cmd *cobra.Command, o *options) error) *cobra.Command {
	o := &options{}
	return cli.Command{
		Usage:   "qwen-codec --model GGUF [-i FILE] [--talker GGUF]",
		About:   about,
		Version: version,
		Env:     slices.Concat([]cli.Variable{cli.GGMLDir(), cli.Device(), cli.Threads(), cli.Sndfile()}, cli.ONNX()),
		Stray:   "the input is given by -i",
		Flags:   newFlags(o),
		Run:     func(cmd *cobra.Command) error { return run(cmd, o) },
	}.Cobra()
}

// validate refuses combinations that need no file to be seen wrong.
func (o *options) validate() error {
	switch {
	case o.check != "" && (o.input != "" || o.output != "" || o.voice != ""):
		return cli.Usagef("--check writes nothing: it excludes -i, -o and --voice")
	case o.check == "" && o.json:
		return cli.Usagef("--json needs --check")
	case o.check == "" && o.models.CodecPath == "":
		return cli.Usagef("--model is missing")
	case o.refText != "" && o.voice == "" && o.check == "":
		return cli.Usagef("--ref-text needs --voice or --check")
	case o.check != "":
		return nil
	case o.input == "" && (o.output != "" || o.voice != "" || o.trim):
		return cli.Usagef("-i is missing")
	case o.input == "":
		return nil
	case o.decodes():
		return o.validateDecoding()
	}
	return o.validateEncoding()
}

func (o *options) validateDecoding() error {
	switch {
	case o.voice != "":
		return cli.Usagef("--voice needs a recording as input, not codes")
	case o.trim:
		return cli.Usagef("--trim-ref needs a recording as input, not codes")
	case extension(o.output) == ".rvq" || extension(o.output) == ".spk" || extension(o.output) == ".qvoice":
		return cli.Usagef("-o %s: what is decoded is audio", o.output)
	}
	return nil
}

func (o *options) validateEncoding() error {
	switch {
	case extension(o.input) == ".spk":
		return cli.Usagef("-i %s: there is no way back from a speaker's vector to audio", o.input)
	case o.voice != "" && o.models.TalkerPath == "":
		return cli.Usagef("--voice needs --talker")
	case extension(o.output) == ".qvoice":
		return cli.Usagef("-o %s: a voice is written by --voice", o.output)
	case o.output != "" && extension(o.output) != ".rvq":
		return cli.Usagef("-o %s: the input is encoded, and files of codes end in .rvq", o.output)
	}
	return nil
}

// decodes tells the direction by the name of the input.
func (o *options) decodes() bool {
	e := extension(o.input)
	return e == ".rvq" || e == ".qvoice"
}

func extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

// sibling is the file beside path with another extension.
func sibling(path, ext string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ext }
