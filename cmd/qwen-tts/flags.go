package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/libqwen/libqwen/core"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// options are the flags as given. The zero value of a sampling flag means nothing: only flags that were set override
// the defaults of the model, see flagSet.Changed.
type options struct {
	model, codec, output string

	text, format, lang, instruct, speaker, layout string
	refWAV, refSpk, refRVQ, refText               string
	maxNew                                        int
	chunk                                         float32
	byLine                                        bool

	seed                              int64
	greedy                            bool
	temp, topP, repPen, subTemp, subP float32
	topK, subTopK                     int

	device           string
	threads, context int
	noFA, clampFP16  bool

	dump                                        string
	verbose, progress, listSpeakers, listDevice bool
}

// flagGroup is a section of the help.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups declares all flags, in the order of the help.
func flagGroups(o *options) []flagGroup {
	var groups []flagGroup
	group := func(title string) *pflag.FlagSet {
		fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
		fs.SortFlags = false
		groups = append(groups, flagGroup{title, fs})
		return fs
	}

	f := group("Required")
	f.StringVar(&o.model, "model", "", "talker `GGUF` (qwen-talker-*.gguf)")
	f.StringVar(&o.codec, "codec", "", "codec `GGUF` (qwen-tokenizer-*.gguf)")
	f.StringVarP(&o.output, "output", "o", "", "output WAV `file` (24 kHz mono); '-' streams to stdout")

	f = group("Input")
	f.StringVar(&o.text, "text", "", "`text` to speak, instead of what stdin holds")
	f.BoolVar(&o.byLine, "stream-by-line", false, "speak each line as soon as it is read, one WAV per line (needs -o -)")
	f.StringVar(&o.lang, "lang", "auto", "language: a `name`, alias or ISO code")
	f.StringVar(&o.instruct, "instruct", "", "style in free `text`: required for VoiceDesign, optional for CustomVoice")
	f.StringVar(&o.speaker, "speaker", "", "speaker `name` (CustomVoice; see --list-speakers)")
	f.StringVar(&o.refWAV, "ref-wav", "", "reference WAV `file` to clone (Base)")
	f.StringVar(&o.refSpk, "ref-spk", "", "`file` with an extracted speaker embedding, replaces --ref-wav (Base)")
	f.StringVar(&o.refRVQ, "ref-rvq", "", "`file` with the reference's codes; needs --ref-spk and --ref-text (Base)")
	f.StringVar(&o.refText, "ref-text", "", "`file` with the transcript of the reference (Base)")
	f.StringVar(&o.layout, "text-layout", "auto", "`layout` of the text in the prompt: auto, whole or streamed")

	f = group("Output")
	f.StringVar(&o.format, "format", "wav16", "`format` of the samples: wav16, wav24 or wav32 (float)")
	f.IntVar(&o.maxNew, "max-new", 2048, "generate at most `n` audio frames, 12.5 a second")
	f.Float32Var(&o.chunk, "codec-chunk-dur", 24, "let the codec decode at most so many `seconds` at once; bounds its memory")

	f = group("Sampling (defaults: the model's own, else those shown)")
	f.Int64Var(&o.seed, "seed", -1, "sampling `seed`; a negative one is drawn at random")
	f.BoolVar(&o.greedy, "greedy", false, "no sampling, on both stacks")
	f.Float32Var(&o.temp, "temp", 0.9, "talker `temperature`")
	f.IntVar(&o.topK, "top-k", 50, "talker: keep the `n` best codes, 0 keeps all")
	f.Float32Var(&o.topP, "top-p", 1, "talker: keep the best codes up to `probability`")
	f.Float32Var(&o.repPen, "rep-pen", 1.05, "talker repetition `penalty`")
	f.Float32Var(&o.subTemp, "sub-temp", 0.9, "sub-talker `temperature`")
	f.IntVar(&o.subTopK, "sub-top-k", 50, "sub-talker: keep the `n` best codes, 0 keeps all")
	f.Float32Var(&o.subP, "sub-top-p", 1, "sub-talker: keep the best codes up to `probability`")

	f = group("Machine")
	f.StringVar(&o.device, "device", "auto", "`device` to run on, see --list-devices")
	f.IntVar(&o.threads, "threads", 0, "use `n` CPU threads; 0 takes QWEN_THREADS, else what the machine has free")
	f.IntVar(&o.context, "context", 0, "allow `n` positions of text and frames together; 0 = all the model can")
	f.BoolVar(&o.noFA, "no-fa", false, "disable flash attention")
	f.BoolVar(&o.clampFP16, "clamp-fp16", false, "clamp hidden states to the range of FP16")

	f = group("Information")
	f.BoolVar(&o.progress, "progress", false, "progress bar on stderr (default: if stderr is a terminal)")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "tell on stderr what is loaded and how long each stage takes")
	f.StringVar(&o.dump, "dump", "", "write intermediate tensors to `folder`, one .npy per stage")
	f.BoolVar(&o.listSpeakers, "list-speakers", false, "print the speakers of the model and exit")
	f.BoolVar(&o.listDevice, "list-devices", false, "print ggml's devices and exit")
	f.Bool("version", false, "print the version and exit")
	f.BoolP("help", "h", false, "print this help and exit")
	return groups
}

const exitCodeHelp = `Exit codes:
  0  done                            4  model files, ggml or the device
  1  the generation failed           5  out of memory
  2  flags, parameters or text       6  reading or writing files
  3  not with this kind of model   130  stopped by Ctrl-C; no file is left behind

Environment:
  QWEN_GGML_DIR  folder with ggml's shared libraries
  QWEN_THREADS   CPU threads, if --threads is not given
`

// newCommand returns the command; it calls speak with the parsed options.
func newCommand(speak func(cmd *cobra.Command, o *options) error) *cobra.Command {
	o := &options{}
	groups := flagGroups(o)
	cmd := &cobra.Command{
		Use:               "qwen-tts --model GGUF --codec GGUF -o OUT.wav < text.txt",
		Version:           "set", // makes cobra answer --version; the template says what
		Args:              noArguments,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return speak(cmd, o) },
	}
	cmd.SetVersionTemplate(banner() + "\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(cmd.OutOrStdout(), cmd.UseLine(), groups) })
	cmd.Flags().SortFlags = false
	for _, g := range groups {
		cmd.Flags().AddFlagSet(g.flags)
	}
	return cmd
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("unexpected argument %q: the text comes from stdin or --text", args[0])}
}

func printHelp(w io.Writer, use string, groups []flagGroup) {
	fmt.Fprintf(w, "%s\nSpeaks text with a Qwen3-TTS model.\n\nUsage: %s\n", banner(), strings.TrimSuffix(use, " [flags]"))
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n%s", g.title, g.flags.FlagUsages())
	}
	fmt.Fprintf(w, "\n%s", exitCodeHelp)
}

// check refuses combinations that need no model to be seen wrong.
func (o *options) check() error {
	switch {
	case o.model == "":
		return usageError{fmt.Errorf("--model is missing")}
	case o.codec == "":
		return usageError{fmt.Errorf("--codec is missing")}
	case o.listSpeakers:
		return nil
	case o.output == "":
		return usageError{fmt.Errorf("-o is missing")}
	case o.byLine && o.output != "-":
		return usageError{fmt.Errorf("--stream-by-line needs -o -")}
	case o.byLine && o.dump != "":
		return usageError{fmt.Errorf("--dump is of one synthesis, --stream-by-line makes many")}
	case o.refRVQ != "" && (o.refSpk == "" || o.refText == ""):
		return usageError{fmt.Errorf("--ref-rvq needs --ref-spk and --ref-text")}
	case o.refWAV != "" && o.refSpk != "":
		return usageError{fmt.Errorf("--ref-wav and --ref-spk exclude each other")}
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
