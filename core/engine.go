// Package core is the Qwen3-TTS engine: text (and a voice) in, 24 kHz mono speech out.
//
//	eng, err := core.Open(core.Options{TalkerPath: "talker.gguf", CodecPath: "tokenizer.gguf"})
//	defer eng.Close()
//	req := eng.DefaultRequest()
//	req.Text, req.Speaker = "Hello world.", "vivian"
//	res, err := eng.Synthesize(ctx, &req, func(pcm []float32) error { … })
//
// An Engine is safe for concurrent use; syntheses take turns, first come first served.
package core

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/libqwen/libqwen/core/bpe"
	"github.com/libqwen/libqwen/core/codec"
	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
)

// SampleRate of all audio in and out, Hz.
const SampleRate = codec.SampleRate

// Options say what to open and where to run it. The zero value of each optional field means the default.
type Options struct {
	// GGUF of the Talker and CodePredictor, the directory of their checkpoint, or a folder with the GGUF files of a
	// model, see FindModel.
	TalkerPath string
	// GGUF of the 12 Hz speech tokenizer, or a directory; "" takes the one in TalkerPath's directory. Or an ONNX vocoder,
	// which only decodes: a file that ends in .onnx, or a directory that holds a qwen3-tts-vocoder.onnx.
	CodecPath string

	PredictorPath string // GGUF of the CodePredictor, where that is apart
	TokenizerPath string // GGUF of the text tokenizer, where that is apart
	Mode          Mode   // the one that is wanted: another one is ErrMode. Needed for files that do not tell theirs

	// Device is where the models run: "" takes QWEN_DEVICE, else "auto": a discrete GPU that passes a self-test, else the CPU;
	// "cpu", "vulkan:0", "cuda:1" … that one or none; "cuda:0,cpu" the first that works, with a warning for what does not;
	// "cuda:0/cpu" the language models and the speaker encoder on one, the codec on the other.
	Device  string
	Threads int    // CPU threads; 0 takes QWEN_THREADS, else DefaultThreads
	GGMLDir string // where ggml's shared libraries are; "" searches (see ggml.Load)
	Context int    // most positions (prompt + frames) of one synthesis; 0 = all the model can

	ChunkSeconds     float32 // most seconds of audio the codec decodes at once (a memory knob); 0 = 24
	NoFlashAttention bool    // no flash attention even where the device has it; the CPU computes attention otherwise in any case
	ClampFP16        bool    // keep hidden states within the range of half precision
	CodecBF16        bool    // the codec's convolutions round to BF16 where the CPU multiplies it: faster, at some 40 dB
	KVType           string  // type of the attention's keys and values: "f32", "f16", "q8_0" (without flash attention the keys only, values are F16); "" fits the file
	MaxBatch         int     // syntheses that may be computed together; 0 = 1

	// ONNXProvider is what an ONNX vocoder runs on: "" takes QWEN_ONNX_PROVIDER, else "auto", the best execution provider
	// that works here, at last the CPU. A name ("cpu", "cuda", "tensorrt", "directml", "coreml", "openvino" …) must work;
	// of several with commas between them, the first that works is taken. See ONNXProviders.
	ONNXProvider string

	Logger *slog.Logger // nil logs nothing
}

const (
	defaultChunkSeconds = 24
	maxChunkSeconds     = 3600
	maxBatch            = 1024
)

// Engine is an open pair of models.
type Engine struct {
	opts    Options
	log     *slog.Logger
	be      *ggml.Backend // of the language models
	codecBE *ggml.Backend // of the codec; the same if there is but one thread
	files   []*gguf.File
	lm      *lm.Model
	decoder vocoder
	vocab   *prompt.Vocab
	tok     *bpe.Tokenizer
	gen     model.Generation
	context int           // most positions of one synthesis
	loading time.Duration // how long Open took

	extractor *extractor // of voices from reference clips
	primed    *lru[uint64, primed]

	turn    *queue // of the places below
	crew    *kernels.Crew
	session *session // the only place, reused from synthesis to synthesis by whose turn it is
	group   *group   // or several, whose syntheses are computed together

	mu      sync.Mutex // guards closed and the count of running calls
	closed  bool
	running sync.WaitGroup
}

// Open loads the models. Errors wrap ErrInvalid, ErrUnsupported, ErrModel, ErrBackend or ErrMemory.
func Open(opts Options) (*Engine, error) {
	start := time.Now()
	opts, err := FindModel(opts)
	if err != nil {
		return nil, err
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	e := &Engine{opts: opts, log: opts.logger()}
	if err := e.open(); err != nil {
		e.release()
		return nil, err
	}
	e.loading = time.Since(start)
	e.log.Info(fmt.Sprintf("[Perf] Load %.1f ms", ms(e.loading)))
	for line := range strings.Lines(e.Describe()) {
		e.log.Info(strings.TrimSpace(line))
	}
	return e, nil
}

// logger is the one to use: one that drops everything if none was given.
func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

func (o *Options) check() error {
	switch {
	case o.TalkerPath == "":
		return fail(ErrInvalid, "talker_path: missing")
	case o.codecPath() == "":
		return fail(ErrInvalid, "codec_path: missing")
	case o.MaxBatch < 0 || o.MaxBatch > maxBatch:
		return fail(ErrInvalid, "max_batch: %d is not in 0..%d", o.MaxBatch, maxBatch)
	case o.Context < 0:
		return fail(ErrInvalid, "context: %d is negative", o.Context)
	case !(o.ChunkSeconds >= 0 && o.ChunkSeconds <= maxChunkSeconds): // also NaN
		return fail(ErrInvalid, "codec_chunk_sec: %v is not in 0..%d", o.ChunkSeconds, maxChunkSeconds)
	}
	if _, ok := kvTypes[strings.ToLower(o.KVType)]; !ok {
		return fail(ErrInvalid, "kv_type: %q is not one of auto, f32, f16, q8_0", o.KVType)
	}
	return o.checkDevice()
}

// kvTypes are what Options.KVType may be.
var kvTypes = map[string]*ggml.Type{"": nil, "auto": nil, "f32": typed(ggml.F32), "f16": typed(ggml.F16), "q8_0": typed(gguf.Q8_0)}

func typed(t ggml.Type) *ggml.Type { return &t }

// loadModels brings the language models onto a device.
func loadModels(be *ggml.Backend, f *gguf.File, o *Options) (*lm.Model, error) {
	free, err := spare(be)
	if err != nil {
		return nil, err
	}
	m, err := lm.Load(be, f, lm.Options{ClampFP16: o.ClampFP16, Cache: o.kvType(), NoFlash: o.NoFlashAttention, Spare: free})
	if errors.Is(err, lm.ErrCache) {
		return nil, as(ErrUnsupported, err)
	}
	return m, loadError(o.TalkerPath, err)
}

func (o *Options) kvType() *ggml.Type { return kvTypes[strings.ToLower(o.KVType)] }

// HoldsCodec tells whether a path is the directory of a talker's checkpoint that holds the speech tokenizer as well, or
// a folder of model files with a codec among them, so that Options.CodecPath need not be set.
func HoldsCodec(talkerPath string) bool {
	return model.HasCodec(talkerPath) || model.FindCodec(talkerPath) != ""
}

// codecPath is where the speech tokenizer is.
func (o *Options) codecPath() string {
	if o.CodecPath == "" && model.HasCodec(o.TalkerPath) {
		return o.TalkerPath
	}
	return o.CodecPath
}

func (e *Engine) open() error {
	threads, err := e.opts.threads()
	if err != nil {
		return err
	}
	talker, notes, err := e.opts.openLM()
	if err != nil {
		return err
	}
	e.files = append(e.files, talker)
	for _, n := range notes {
		e.log.Info("talker: " + n)
	}
	tokenizer, err := openTokenizer(e.opts.codecPath(), e.openFile)
	if err != nil {
		return err
	}
	err = together(
		func() error { return e.readTalker(talker) }, // its vocabulary takes as long as finding the devices and some weights
		func() error { return e.load(threads, talker, tokenizer) })
	if err != nil {
		return err
	}
	return e.assemble(talker, tokenizer)
}

// together runs functions at the same time and returns the error of the first that fails, in their order. A panic is an
// error, too.
func together(fs ...func() error) error {
	errs := make([]error, len(fs))
	var wg sync.WaitGroup
	for i, f := range fs {
		wg.Go(func() {
			defer caught(&errs[i])
			errs[i] = f()
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// inTurn runs functions one after the other, up to the first that fails.
func inTurn(fs ...func() error) error {
	for _, f := range fs {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) openFile(path, architecture, what string) (*gguf.File, error) {
	f, err := openFile(path, architecture, what)
	if err == nil {
		e.files = append(e.files, f)
	}
	return f, err
}

// readTalker reads what the talker file says besides tensors.
func (e *Engine) readTalker(f *gguf.File) (err error) {
	if e.vocab, e.tok, err = model.ReadVocab(f); err == nil {
		e.gen, err = model.ReadGeneration(f)
	}
	if err != nil {
		return as(ErrModel, fmt.Errorf("%s: %w", e.opts.TalkerPath, err))
	}
	if n := e.tok.Restored(); n > 0 {
		e.log.Info(fmt.Sprintf("tokenizer: %d merges that the file lacks were restored", n))
	}
	return nil
}

// load brings the weights onto the devices.
func (e *Engine) load(threads int, talker, tokenizer *gguf.File) (err error) {
	if err := loadGGML(e.opts.GGMLDir, e.log); err != nil {
		return err
	}
	if e.be, e.codecBE, err = openDevices(e.opts.device(), threads, e.log); err != nil {
		return err
	}
	run := together
	if e.be == e.codecBE && !e.be.Host() {
		run = inTurn // not every device takes two uploads at a time
	}
	return run(
		func() (err error) {
			e.lm, err = loadModels(e.be, talker, &e.opts)
			return err
		},
		func() (err error) {
			e.decoder, err = loadVocoder(e.codecBE, tokenizer, &e.opts)
			return err
		})
}

// assemble checks that the two files belong together, and makes what syntheses need.
func (e *Engine) assemble(talker, tokenizer *gguf.File) error {
	if err := belongTogether(e.lm.Config, e.decoder); err != nil {
		return err
	}
	plan, err := e.planMemory(talker, e.lm.Pending()+e.decoder.Pending())
	if err != nil {
		return err
	}
	e.context = plan.positions
	e.log.Info("memory: " + plan.String())
	e.extractor = &extractor{turn: newQueue(1), be: e.be, decoder: e.decoder, talker: talker, tokenizer: tokenizer, codecPath: e.opts.codecPath(), cache: newLRU[voiceID, *Voice](cachedVoices)}
	e.primed = newLRU[uint64, primed](primedBytes)
	if e.opts.MaxBatch > 1 && e.be.HasKernels() { // clips are listened to beside the group
		if e.extractor.be, err = ggml.OpenCPU(1); err != nil {
			return as(ErrBackend, err)
		}
	}
	return e.openPlaces()
}

// openPlaces makes what syntheses are computed in.
func (e *Engine) openPlaces() (err error) {
	n := max(1, e.opts.MaxBatch)
	e.turn = newQueue(n)
	if e.be.Threads() == 1 && e.be.HasKernels() && e.beside() {
		// The codec's processor helps the language models while there is nothing to decode.
		if e.crew = kernels.NewCrew(); e.crew != nil {
			e.be.SetCrew(e.crew.Address())
		}
	}
	if n == 1 {
		e.session, err = e.newSession(nil)
		return err
	}
	if e.group, err = newGroup(e, n); err == nil && e.extractor.be == e.be {
		e.extractor.group = e.group
	}
	return err
}

// belongTogether tells whether the codes that a talker writes are those that a speech tokenizer reads.
func belongTogether(c lm.Config, d vocoder) error {
	if d.Codebooks() != c.Codebooks || d.CodebookSize() != c.CodebookSize {
		return fail(ErrModel, "the files do not belong together: the talker writes %d codebooks of %d, the speech tokenizer reads %d of %d",
			c.Codebooks, c.CodebookSize, d.Codebooks(), d.CodebookSize())
	}
	return nil
}

func loadError(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ggml.ErrMemory) {
		return as(ErrMemory, fmt.Errorf("%s: %w", path, err))
	}
	return as(ErrModel, fmt.Errorf("%s: %w", path, err))
}

// begin counts a call in unless the engine is closed; the call ends with running.Done.
func (e *Engine) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return as(ErrClosed, ErrClosed)
	}
	e.running.Add(1)
	return nil
}

// checkFiles refuses to go on with a file that has become shorter: reading beyond its end would end the process. One that
// was written to is worth a warning.
func (e *Engine) checkFiles() (warnings []string, err error) {
	for i, f := range e.files {
		modified, err := f.Check()
		if err != nil {
			return nil, as(ErrModel, err)
		}
		if modified {
			field, path := "talker_path", e.opts.TalkerPath
			if i > 0 {
				field, path = "codec_path", e.opts.codecPath()
			}
			warnings = append(warnings, fmt.Sprintf("%s: %s has been written to since it was opened, so that the speech may be wrong; open the model again", field, path))
		}
	}
	return warnings, nil
}

// Close cancels the syntheses under way, waits for them to end and releases everything. Later calls on the engine
// fail with ErrClosed; closing twice is harmless.
func (e *Engine) Close() error {
	e.mu.Lock()
	already := e.closed
	e.closed = true
	e.mu.Unlock()
	e.running.Wait()
	if !already {
		e.release()
	}
	return nil
}

func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// release frees whatever has been opened, in reverse order.
func (e *Engine) release() {
	if e.session != nil {
		e.session.close()
	}
	if e.group != nil {
		e.group.close()
	}
	e.crew.Close() // before the weights that it may be reading
	e.extractor.free()
	if x := e.extractor; x != nil && x.be != nil && x.be != e.be {
		x.be.Close()
	}
	if e.decoder != nil {
		e.decoder.Free()
	}
	if e.lm != nil {
		e.lm.Free()
	}
	if e.codecBE != nil && e.codecBE != e.be {
		e.codecBE.Close()
	}
	if e.be != nil {
		e.be.Close()
	}
	for _, f := range e.files {
		f.Close()
	}
}

// DefaultRequest has the sampling that the model's file recommends, and its limit as far as memory allows.
func (e *Engine) DefaultRequest() Request {
	r := defaultRequest(e.gen)
	if e.opts.Context == 0 {
		r.MaxFrames = min(r.MaxFrames, e.context/2)
	}
	return r
}

// DefaultRequest has the sampling of the official checkpoints.
func DefaultRequest() Request { return defaultRequest(model.DefaultGeneration()) }

func defaultRequest(g model.Generation) Request {
	return Request{Seed: -1, MaxFrames: g.MaxFrames, Talker: g.Talker, Predictor: g.Predictor}
}

// ModelType is "base", "custom_voice" or "voice_design".
func (e *Engine) ModelType() string { return e.vocab.ModelType }

// Speakers are the named speakers of a custom_voice model, in the order of the file.
func (e *Engine) Speakers() []string { return e.vocab.SpeakerNames() }

// Languages are the languages and dialects that the model's file lists.
func (e *Engine) Languages() []string { return e.vocab.LanguageNames() }

// NumCodebooks is the number of codes in a frame.
func (e *Engine) NumCodebooks() int { return e.lm.Codebooks }

// FramesFor is the number of whole audio frames that last about the given time, at least 1.
func (e *Engine) FramesFor(seconds float32) int { return framesFor(seconds, e.decoder.Hop()) }

func framesFor(seconds float32, hop int) int {
	frames := math.Round(float64(seconds) * SampleRate / float64(hop))
	if !(frames >= 1) {
		return 1
	}
	return int(math.Min(frames, math.MaxInt32))
}

// Describe tells what is loaded, a fact a line.
func (e *Engine) Describe() string {
	inPlace, copied := e.lm.Bytes()
	codecInPlace, codecCopied := e.decoder.Bytes()
	var b strings.Builder
	fmt.Fprintf(&b, "model: %s %s %s\n", model.Name(e.files[0]), e.vocab.ModelSize, e.vocab.ModelType)
	fmt.Fprintf(&b, "language models: %s\n", e.lm.Describe())
	fmt.Fprintf(&b, "weights: %.1f MiB in place, %.1f MiB copied\n", mib(inPlace+codecInPlace), mib(copied+codecCopied))
	fmt.Fprintf(&b, "device: %s, ggml %s %s\n", e.describeDevices(), ggml.Version(), ggml.CPUVariant())
	if v := e.decoder.Describe(); v != "" {
		fmt.Fprintf(&b, "vocoder: %s\n", v)
	}
	return b.String()
}

func (e *Engine) describeDevices() string {
	m, c := e.be, e.codecBE
	switch {
	case m.Name != c.Name:
		return fmt.Sprintf("%s (%s) for the language models, %s (%s) for the codec, %d threads", m.Name, m.Description, c.Name, c.Description, max(m.Threads(), c.Threads()))
	case m != c:
		return fmt.Sprintf("%s (%s), %d + %d threads (language models + codec)", m.Name, m.Description, m.Threads(), c.Threads())
	}
	return fmt.Sprintf("%s (%s), %d thread", m.Name, m.Description, m.Threads())
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
