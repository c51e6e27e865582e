package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/hub"
)

// A Model is what the flags of a command say of the model that speaks and of the machine that it runs on. Most of them
// are the engine's options as they are; Check completes those, Fetch finds their files if a hub has them.
type Model struct {
	core.Options
	HF   string // --hf
	mode string // --mode, which Check reads
	repo string // that Fetch brought as a whole
}

// Required declares --model, --codec and --hf, in the first group of the help; more may be added to it.
func (m *Model) Required(flags *Flags) *pflag.FlagSet {
	f := flags.Group("Required")
	f.StringVar(&m.TalkerPath, "model", "", "talker `GGUF` (qwen-talker-*.gguf), or a folder that holds the model")
	f.StringVar(&m.CodecPath, "codec", "", "codec `GGUF` (qwen-tokenizer-*.gguf) or ONNX vocoder; --model's directory may hold it")
	f.StringVar(&m.HF, "hf", "", "fetch both from a hub instead, by `ORG/NAME[@REVISION][:WANT]`, see qwen-pull")
	return f
}

// Parts declares the flags of models of several files.
func (m *Model) Parts(flags *Flags) {
	f := flags.Group("Models of several files")
	f.StringVar(&m.mode, "mode", "", "`mode` of --model: base, customvoice or voicedesign; which of a folder's or hub's is meant")
	f.StringVar(&m.PredictorPath, "predictor", "", "code predictor `GGUF`, where it is not in --model")
	f.StringVar(&m.TokenizerPath, "tokenizer", "", "text tokenizer `GGUF`, where it is not in --model")
}

// Machine declares where and how the model runs.
func (m *Model) Machine(flags *Flags) *pflag.FlagSet {
	f := flags.Group("Machine")
	MachineFlags(f, &m.Options, "--codec")
	f.IntVar(&m.Context, "context", 0, "allow `n` positions of text and frames together; 0 = all the model can")
	f.Float32Var(&m.ChunkSeconds, "codec-chunk-dur", 24, "let the codec decode at most so many `seconds` at once; bounds its memory")
	f.BoolVar(&m.NoFlashAttention, "no-fa", false, "disable flash attention")
	f.BoolVar(&m.ClampFP16, "clamp-fp16", false, "clamp hidden states to the range of FP16")
	f.BoolVar(&m.CodecBF16, "codec-bf16", false, "faster, coarser codec on CPUs that multiply BF16")
	f.StringVar(&m.KVType, "kv-type", "auto", "keep keys and values as `type` auto, f32, f16 or q8_0 (without flash attention the keys only)")
	return f
}

// MachineFlags declares what every command that runs models has; vocoder is the flag that names an ONNX vocoder.
func MachineFlags(f *pflag.FlagSet, o *core.Options, vocoder string) {
	f.StringVar(&o.Device, "device", "", "`device` to run on (default QWEN_DEVICE, else auto), see qwen-tts --list-devices; cuda:0,cpu tries both, cuda:0/cpu has the codec on the CPU")
	f.StringVar(&o.ONNXProvider, "onnx-provider", "", "execution `provider` of an ONNX vocoder ("+vocoder+" x.onnx): auto, cpu, cuda …, or several with commas between them, in order of preference")
	ThreadsFlag(f, &o.Threads)
}

// ThreadsFlag declares --threads.
func ThreadsFlag(f *pflag.FlagSet, n *int) {
	f.IntVar(n, "threads", 0, "use `n` CPU threads; 0 takes QWEN_THREADS, else what the machine has free")
}

// Check refuses what no file is needed for to be seen wrong; codec tells whether one is needed.
func (m *Model) Check(codec bool) (err error) {
	switch {
	case m.HF != "" && m.TalkerPath != "":
		return Usagef("--hf and --model exclude each other")
	case m.HF != "" && (m.PredictorPath != "" || m.TokenizerPath != ""):
		return Usagef("--hf and --predictor, --tokenizer exclude each other")
	case m.HF == "" && m.TalkerPath == "":
		return Usagef("--model is missing, or --hf")
	case codec && m.HF == "" && m.CodecPath == "" && !core.HoldsCodec(m.TalkerPath):
		if info, err := os.Stat(m.TalkerPath); err == nil && info.IsDir() {
			return Usagef("--codec is missing: there is none (qwen-tokenizer-12hz-*.gguf) in the folder %s", m.TalkerPath)
		}
		return Usagef("--codec is missing")
	}
	if m.Mode, err = core.ParseMode(m.mode); err != nil {
		return UsageError{Err: fmt.Errorf("--%w", err)}
	}
	return nil
}

// Fetch brings the model that --hf names, if there is one, and makes the options name its files; those of --codec stay.
// Of several models the one is meant that --hf or --mode tells, else the one of the mode that other flags imply, if
// that is not "". codec tells whether one is needed.
func (m *Model) Fetch(ctx context.Context, p Puller, implied core.Mode, codec bool) error {
	if m.HF == "" {
		return nil
	}
	ref, err := hub.ParseRef(m.HF)
	if err != nil {
		return UsageError{Err: err}
	}
	switch want := wanted(cmp.Or(m.Mode, implied)); {
	case ref.Want.Mode == "":
		ref.Want.Mode = want
	case m.Mode != "" && ref.Want.Mode != want:
		return Usagef("--hf %s and --mode %s exclude each other", m.HF, m.mode)
	}
	choice, snapshot, err := p.Pull(ctx, ref)
	if err != nil {
		return err
	}
	return m.take(ref, choice, snapshot, codec)
}

// FetchTalker brings another talker from where --hf is, that of a mode, and returns its path.
func (m *Model) FetchTalker(ctx context.Context, p Puller, mode core.Mode) (string, error) {
	ref, err := hub.ParseRef(m.HF)
	if err != nil {
		return "", UsageError{Err: err}
	}
	ref.Want.Mode = wanted(mode)
	choice, snapshot, err := p.Pull(ctx, ref)
	if err != nil {
		return "", err
	}
	if choice.Checkpoint != nil {
		return snapshot.Dir, nil
	}
	return snapshot.Path(choice.Talker), nil
}

// wanted is a mode as the names of files have it.
func wanted(mode core.Mode) string { return strings.ReplaceAll(string(mode), "_", "") }

// take makes the options name the files of a choice.
func (m *Model) take(ref hub.Ref, c hub.Choice, snapshot *hub.Snapshot, codec bool) error {
	file := func(name string) string {
		if name == "" {
			return ""
		}
		return snapshot.Path(name)
	}
	switch {
	case c.Checkpoint != nil:
		m.TalkerPath, m.repo = snapshot.Dir, ref.Repo
		return nil
	case c.Talker == "":
		return ModeError{Err: fmt.Errorf("--hf %s: has no talker", ref.Repo)}
	}
	m.TalkerPath, m.PredictorPath, m.TokenizerPath = file(c.Talker), file(c.Predictor), file(c.Tokenizer)
	m.CodecPath = cmp.Or(m.CodecPath, file(cmp.Or(c.Codec, c.Vocoder)))
	if codec && m.CodecPath == "" {
		return ModeError{Err: fmt.Errorf("--hf %s: has no codec (qwen-tokenizer-*.gguf); name one with --codec", ref.Repo)}
	}
	return nil
}

// Name is what the model is called: as its file or folder or, if it came from a hub as a whole, where the folder is
// called by a commit, as the repository.
func (m *Model) Name() string {
	if m.repo != "" {
		return path.Base(m.repo)
	}
	file, err := filepath.Abs(m.TalkerPath) // for a folder that is named "."
	if err != nil {
		file = m.TalkerPath
	}
	return strings.TrimSuffix(filepath.Base(file), ".gguf")
}
