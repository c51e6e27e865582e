package main

import (
	"cmp"
	"fmt"

	"slices"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/cli"
)

// options are the flags as given. The zero value of a sampling flag means nothing: only flags that were set override
// the defaults of the model, see session.changed.
type options struct {
	model  cli.Model
	output string

	batch, outDir string
	concurrency   int
	failFast      bool
	itemsMode     core.Mode // that the items need

	text, format, lang, instruct, speaker, layout string
	refWAV, refSpk, refRVQ, refText               string
	inline                                        bool // refText is no file, but the transcript itself: of an item
	voice, saveVoice, design, base, anchor        string
	trimRef, xvectorOnly                          bool
	maxNew                                        int
	byLine, long                                  bool
	pieceChars                                    int
	speed                                         float32

	seed                              int64
	greedy                            bool
	temp, topP, repPen, subTemp, subP float32
	topK, subTopK                     int

	dump, profile                               string
	verbose, progress, listSpeakers, listDevice bool
}

// newFlags declares all flags, in the order of the help.
func newFlags(o *options) cli.Flags {
	var flags cli.Flags
	f := o.model.Required(&flags)
	f.StringVarP(&o.output, "output", "o", "", "output `file` (24 kHz mono), .wav .mp3 .opus .flac .ogg .pcm; '-' streams to stdout")

	o.model.Parts(&flags)

	f = flags.Group("Input")
	f.StringVar(&o.text, "text", "", "`text` to speak, instead of what stdin holds")
	f.BoolVar(&o.byLine, "stream-by-line", false, "speak each line as soon as it is read, one WAV per line (needs -o -)")
	f.BoolVar(&o.long, "long", false, "speak a text of any length: piece by piece, cut at sentence ends, as one recording")
	f.IntVar(&o.pieceChars, "piece-chars", 0, "with --long: at most `n` characters a piece (default: what takes some 25 seconds)")
	f.StringVar(&o.lang, "lang", "auto", "language: a `name`, alias or ISO code")
	f.StringVar(&o.instruct, "instruct", "", "style in free `text`: required for VoiceDesign, optional for CustomVoice")
	f.StringVar(&o.speaker, "speaker", "", "speaker `name` (CustomVoice; see --list-speakers)")
	f.StringVar(&o.layout, "text-layout", "auto", "`layout` of the text in the prompt: auto, whole or streamed")

	f = flags.Group("Many texts")
	f.StringVar(&o.batch, "batch", "", "speak the `items` of a file, one JSON object a line (id, text …), '-' reads stdin; needs --out-dir")
	f.StringVar(&o.outDir, "out-dir", "", "`folder` for the audio and the results of --batch; what is done there already is not done again")
	f.IntVar(&o.concurrency, "concurrency", 0, "with --batch: compute `n` items together (default: 8, or as many as there are)")
	f.BoolVar(&o.failFast, "fail-fast", false, "with --batch: stop at the first item that fails or line that is wrong")

	f = flags.Group("Voices (Base)")
	f.StringVar(&o.refWAV, "ref-wav", "", "recording `file` to clone: WAV, FLAC, MP3, Ogg, AIFF, CAF …")
	f.StringVar(&o.refText, "ref-text", "", "`file` with the transcript of the reference: the model then continues it")
	f.BoolVar(&o.trimRef, "trim-ref", false, "cut off silence and fades at both ends of --ref-wav, at most 40 % of it")
	f.StringVar(&o.voice, "voice", "", "voice `file` (.qvoice) of --save-voice or qwen-codec")
	f.BoolVar(&o.xvectorOnly, "x-vector-only", false, "take the speaker's vector only, as if there were no transcript")
	f.StringVar(&o.refSpk, "ref-spk", "", "`file` with an extracted speaker embedding (.spk), replaces --ref-wav")
	f.StringVar(&o.refRVQ, "ref-rvq", "", "`file` with the reference's codes (.rvq); needs --ref-spk and --ref-text")
	f.StringVar(&o.saveVoice, "save-voice", "", "write the voice to `file` (.qvoice); -o may then be left out")
	f.StringVar(&o.design, "design", "", "design a voice by its `description` with --model, a VoiceDesign talker, for --base")
	f.StringVar(&o.base, "base", "", "Base talker `GGUF` that the designed voice is for, and that speaks")
	f.StringVar(&o.anchor, "anchor-text", "", "`text` that the designed voice is recorded with (default: two sentences in --lang)")

	f = flags.Group("Output")
	f.StringVar(&o.format, "format", "", "`format`, whatever -o is called (default: by its ending, wav without one): mp3, opus, flac, vorbis, wav, wav24, wav32 (float), pcm")
	f.Float32Var(&o.speed, "speed", 1, "speak at 0.25 to 4 `times` the speed, at the same pitch (needs libsonic)")
	f.IntVar(&o.maxNew, "max-new", 2048, "generate at most `n` audio frames, 12.5 a second; with --long: of each piece")

	f = flags.Group("Sampling (defaults: the model's own, else those shown)")
	f.Int64Var(&o.seed, "seed", -1, "sampling `seed`; a negative one is drawn at random")
	f.BoolVar(&o.greedy, "greedy", false, "no sampling, on both stacks")
	f.Float32Var(&o.temp, "temp", 0.9, "talker `temperature`")
	f.IntVar(&o.topK, "top-k", 50, "talker: keep the `n` best codes, 0 keeps all")
	f.Float32Var(&o.topP, "top-p", 1, "talker: keep the best codes up to `probability`")
	f.Float32Var(&o.repPen, "rep-pen", 1.05, "talker repetition `penalty`")
	f.Float32Var(&o.subTemp, "sub-temp", 0.9, "sub-talker `temperature`")
	f.IntVar(&o.subTopK, "sub-top-k", 50, "sub-talker: keep the `n` best codes, 0 keeps all")
	f.Float32Var(&o.subP, "sub-top-p", 1, "sub-talker: keep the best codes up to `probability`")

	o.model.Machine(&flags)

	f = flags.Information(&o.verbose, "what is loaded and how long each stage takes")
	f.BoolVar(&o.progress, "progress", false, "progress bar on stderr (default: if stderr is a terminal)")
	f.StringVar(&o.profile, "profile", "", "print on stderr what each stage took, in the `form` table (the default) or json (--profile=json)")
	f.Lookup("profile").NoOptDefVal = "table"
	f.StringVar(&o.dump, "dump", "", "write intermediate tensors to `folder`, one .npy per stage")
	f.BoolVar(&o.listSpeakers, "list-speakers", false, "print the speakers of the model and exit")
	f.BoolVar(&o.listDevice, "list-devices", false, "print ggml's devices and exit")
	return flags
}

// newCommand returns the command; it calls speak with the parsed options.
func newCommand(speak func(cmd *cobra.Command, o *options) error) *cobra.Command {
	o := &options{}
	return cli.Command{
		Usage:   "qwen-tts --model GGUF --codec GGUF -o OUT.wav < text.txt",
		About:   "Speaks text with a Qwen3-TTS model.",
		Version: version,
		Env:     slices.Concat([]cli.Variable{cli.GGMLDir(), cli.Device(), cli.Threads(), cli.ShareWeights(), cli.Sndfile(), cli.Sonic()}, cli.ONNX(), cli.Hub()),
		Args:    o.checkArgs,
		Exit:    "  7  some items of --batch failed\n",
		Flags:   newFlags(o),
		Run:     func(cmd *cobra.Command) error { return speak(cmd, o) },
	}.Cobra()
}

// checkArgs refuses what is no flag.
func (o *options) checkArgs(args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case o.profile == "table" && args[0] == "json":
		return cli.Usagef("--profile json: its form comes after =, --profile=json")
	}
	return cli.Usagef("unexpected argument %q: the text comes from stdin or --text", args[0])
}

// check refuses combinations that need no model to be seen wrong.
func (o *options) check() error {
	if err := o.model.Check(!o.listSpeakers); err != nil || o.listSpeakers {
		return err
	}
	switch {
	case o.output == "" && o.saveVoice == "" && o.batch == "":
		return cli.Usagef("-o is missing")
	case o.profile != "" && o.profile != "table" && o.profile != "json":
		return cli.Usagef("--profile=%s: neither table nor json", o.profile)
	case o.byLine && o.output != "-":
		return cli.Usagef("--stream-by-line needs -o -")
	case o.byLine && o.dump != "":
		return cli.Usagef("--dump is of one synthesis, --stream-by-line makes many")
	}
	return cmp.Or(o.checkPieces(), o.checkBatch(), o.checkVoice())
}

func (o *options) checkPieces() error {
	switch {
	case o.pieceChars < 0:
		return cli.Usagef("--piece-chars: %d is negative", o.pieceChars)
	case o.pieceChars > 0 && !o.long:
		return cli.Usagef("--piece-chars needs --long")
	}
	return nil
}

// checkBatch refuses what does not go with --batch, and what goes with nothing else.
func (o *options) checkBatch() error {
	switch {
	case o.batch == "" && (o.outDir != "" || o.concurrency != 0 || o.failFast):
		return cli.Usagef("--out-dir, --concurrency and --fail-fast need --batch")
	case o.batch == "":
		return nil
	case o.outDir == "":
		return cli.Usagef("--batch needs --out-dir")
	case o.output != "" || o.text != "" || o.byLine:
		return cli.Usagef("--batch excludes -o, --text and --stream-by-line")
	case o.dump != "" || o.profile != "" || o.saveVoice != "":
		return cli.Usagef("--batch excludes --dump, --profile and --save-voice")
	case o.concurrency < 0:
		return cli.Usagef("--concurrency: %d is negative", o.concurrency)
	}
	return nil
}

// voiceSources are the flags given that name a voice; more than one are a contradiction.
func (o *options) voiceSources() (sources []string) {
	for _, f := range []struct{ flag, value string }{
		{"--ref-wav", o.refWAV}, {"--ref-spk", o.refSpk}, {"--voice", o.voice}, {"--design", o.design},
	} {
		if f.value != "" {
			sources = append(sources, f.flag)
		}
	}
	return sources
}

// checkVoice refuses contradictions about the voice.
func (o *options) checkVoice() error {
	sources := o.voiceSources()
	switch {
	case o.refRVQ != "" && (o.refSpk == "" || o.refText == ""):
		return cli.Usagef("--ref-rvq needs --ref-spk and --ref-text")
	case len(sources) > 1:
		return cli.Usagef("%s and %s exclude each other", sources[0], sources[1])
	case len(sources) > 0 && o.speaker != "":
		return cli.Usagef("--speaker and %s exclude each other", sources[0])
	case len(sources) == 0 && o.refText != "":
		return cli.Usagef("--ref-text needs --ref-wav, --voice, or --ref-spk with --ref-rvq")
	case len(sources) == 0 && (o.saveVoice != "" || o.xvectorOnly):
		return cli.Usagef("--save-voice and --x-vector-only need a voice: --ref-wav, --ref-spk, --voice or --design")
	case o.trimRef && o.refWAV == "":
		return cli.Usagef("--trim-ref needs --ref-wav")
	case o.design == "" && (o.base != "" || o.anchor != ""):
		return cli.Usagef("--base and --anchor-text need --design")
	case o.design != "" && o.base == "" && o.model.HF == "":
		return cli.Usagef("--design needs --base: a VoiceDesign model speaks in a voice of its own by --instruct")
	case o.design != "" && (o.instruct != "" || o.refText != ""):
		return cli.Usagef("--design excludes --instruct and --ref-text")
	}
	return nil
}

// parseLayout returns the layout of a name.
func parseLayout(name string) (core.Layout, error) {
	switch name {
	case "auto":
		return core.LayoutAuto, nil
	case "whole":
		return core.LayoutWhole, nil
	case "streamed":
		return core.LayoutStreamed, nil
	}
	return 0, fmt.Errorf("%q: not auto, whole or streamed", name)
}
