package core_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

const custom = "tiny-customvoice-17"

// sampled is a short request with random draws.
func sampled(seed int64) core.Request {
	r := core.DefaultRequest()
	r.Text, r.Speaker, r.Language = "Hello world.", "vivian", "English"
	r.Seed, r.MaxFrames = seed, 12
	return r
}

func TestASeedReplaysByteForByte(t *testing.T) {
	e := engine(t, custom)
	first, res, err := speak(e, sampled(7))
	require.NoError(t, err)
	assert.Equal(t, int64(7), res.Seed)
	again, _, err := speak(e, sampled(7))
	require.NoError(t, err)
	assert.Equal(t, first, again)

	fresh, _, err := speak(engine(t, custom), sampled(7))
	require.NoError(t, err)
	assert.Equal(t, first, fresh, "another engine")

	other, _, err := speak(e, sampled(8))
	require.NoError(t, err)
	assert.NotEqual(t, first, other)
}

func TestARandomSeedIsReported(t *testing.T) {
	e := engine(t, custom)
	first, res, err := speak(e, sampled(-1))
	require.NoError(t, err)
	require.GreaterOrEqual(t, res.Seed, int64(0))
	again, _, err := speak(e, sampled(res.Seed))
	require.NoError(t, err)
	assert.Equal(t, first, again)
}

func TestThreadsDoNotChangeTheSamples(t *testing.T) {
	r := sampled(3)
	r.MaxFrames = 2 // ggml's threads spin while they wait: more takes for ever on a busy machine
	one, _, err := speak(engine(t, custom), r)
	require.NoError(t, err)
	for _, n := range []int{2, 4} {
		many, _, err := speak(engine(t, custom, func(o *core.Options) { o.Threads = n }), r)
		require.NoError(t, err)
		assert.Equal(t, one, many, "%d threads", n)
	}
}

func TestTheChunkIsOnlyAMemoryKnob(t *testing.T) {
	r := sampled(5)
	r.MaxFrames = 30
	whole, _, err := speak(engine(t, custom), r)
	require.NoError(t, err)
	for _, seconds := range []float32{.01, .56, 1} {
		pcm, _, err := speak(engine(t, custom, func(o *core.Options) { o.ChunkSeconds = seconds }), r)
		require.NoError(t, err)
		assert.LessOrEqual(t, golden.MaxAbs(pcm, whole), 2e-6, "%v s", seconds)
	}
}

func TestTheCodecMayRoundToBF16(t *testing.T) {
	r := sampled(5)
	want, _, err := speak(engine(t, custom), r)
	require.NoError(t, err)
	got, _, err := speak(engine(t, custom, func(o *core.Options) { o.CodecBF16 = true }), r)
	require.NoError(t, err)
	assert.Greater(t, golden.SNR(got, want), 25.0, "a tiny random net, about 33 dB where the CPU has BF16")
}

func TestStreamingDeliversAFrameAtATime(t *testing.T) {
	e := engine(t, custom)
	r := sampled(1)
	r.Stream, r.ChunkFrames = true, 1
	var order []string
	r.Progress = func(core.Progress) { order = append(order, "frame") }
	res, err := e.Synthesize(context.Background(), &r, func(pcm []float32) error {
		assert.Len(t, pcm, 1920)
		order = append(order, "audio")
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 12*1920, res.Samples)
	assert.Equal(t, core.FinishLength, res.Finish)
	assert.Equal(t, []string{"audio", "frame"}, order[:2], "the first frame is heard before the second is begun")
	assert.Positive(t, res.Timings.FirstAudio)
}

func TestStreamedChunksGrow(t *testing.T) {
	for _, threads := range []int{1, 2} {
		e := engine(t, custom, func(o *core.Options) { o.Threads = threads })
		r := sampled(1)
		r.Stream = true
		want, _, err := speak(e, r)
		require.NoError(t, err)
		for _, c := range []struct {
			most, frames int
			want         []int
		}{
			{1, 12, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
			{4, 12, []int{1, 2, 4, 4, 1}},
			{0, 26, []int{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 2}},
		} {
			r.ChunkFrames, r.MaxFrames = c.most, c.frames
			var got []float32
			var frames []int
			_, err = e.Synthesize(context.Background(), &r, func(pcm []float32) error {
				got, frames = append(got, pcm...), append(frames, len(pcm)/1920)
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, c.want, frames)
			assert.LessOrEqual(t, golden.MaxAbs(got[:len(want)], want), 2e-6)
		}
	}
}

func TestTheReceiverStops(t *testing.T) {
	e := engine(t, custom)
	for _, stream := range []bool{true, false} {
		r := sampled(1)
		r.Stream = stream
		calls := 0
		res, err := e.Synthesize(context.Background(), &r, func([]float32) error {
			calls++
			return errStop
		})
		assert.ErrorIs(t, err, core.ErrCancelled)
		assert.ErrorIs(t, err, errStop)
		assert.Equal(t, 1, calls)
		assert.Equal(t, core.FinishCancelled, res.Finish)
	}
	_, _, err := speak(e, sampled(1))
	assert.NoError(t, err, "the engine is fine afterwards")
}

// countdown is a context that ends after a number of looks at it, without a channel, like a C callback.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancelIsSeenInEveryPhase(t *testing.T) {
	e := engine(t, custom)
	want, _, err := speak(e, sampled(2))
	require.NoError(t, err)
	for _, stream := range []bool{false, true} {
		for looks := range 12 {
			r := sampled(2)
			r.Stream = stream
			samples := 0
			res, err := e.Synthesize(&countdown{context.Background(), looks}, &r, func(pcm []float32) error {
				samples += len(pcm)
				return nil
			})
			require.ErrorIs(t, err, core.ErrCancelled, "%d looks", looks)
			assert.Equal(t, core.FinishCancelled, res.Finish)
			if stream {
				assert.Equal(t, res.Frames*1920, samples, "what was generated is heard")
			}
		}
	}
	got, _, err := speak(e, sampled(2))
	require.NoError(t, err)
	assert.Equal(t, want, got, "nothing is left of the cancelled ones")
}

func TestConcurrentCallsEqualSerialOnes(t *testing.T) {
	e := engine(t, custom)
	want := make([][]float32, 6)
	for i := range want {
		var err error
		want[i], _, err = speak(e, sampled(int64(i)))
		require.NoError(t, err)
	}
	var wg sync.WaitGroup
	for i := range want {
		wg.Go(func() {
			got, _, err := speak(e, sampled(int64(i)))
			assert.NoError(t, err)
			assert.Equal(t, want[i], got)
		})
	}
	wg.Wait()
}

func TestAWaiterCanGiveUp(t *testing.T) {
	e := engine(t, custom)
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	done := make(chan error)
	go func() {
		r := sampled(1)
		r.Stream = true
		_, err := e.Synthesize(context.Background(), &r, func([]float32) error {
			once.Do(func() { close(entered); <-release })
			return nil
		})
		done <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	r := sampled(1)
	_, err := e.Synthesize(ctx, &r, func([]float32) error { return nil })
	assert.ErrorIs(t, err, core.ErrCancelled)
	close(release)
	assert.NoError(t, <-done)
	_, _, err = speak(e, sampled(1))
	assert.NoError(t, err, "the turn was passed on")
}

func TestCloseEndsWhatRuns(t *testing.T) {
	e := engine(t, custom)
	r := sampled(1)
	r.Stream, r.MaxFrames = true, 2000
	started, ended := make(chan struct{}), make(chan error)
	var once sync.Once
	go func() {
		_, err := e.Synthesize(context.Background(), &r, func([]float32) error {
			once.Do(func() { close(started) })
			return nil
		})
		ended <- err
	}()
	<-started
	require.NoError(t, e.Close())
	assert.ErrorIs(t, <-ended, core.ErrCancelled)
	_, err := e.Synthesize(context.Background(), &r, nil)
	assert.ErrorIs(t, err, core.ErrClosed)
	assert.NoError(t, e.Close())
}

func TestModesAreChecked(t *testing.T) {
	voice := func(width int) *core.Voice { return &core.Voice{XVector: make([]float32, width)} }
	for _, c := range []struct {
		model  string
		change func(*core.Request)
		kind   error
		names  []string
	}{
		{"tiny-base-17", func(r *core.Request) { r.Speaker = "vivian" }, core.ErrMode, []string{"speaker", "base"}},
		{"tiny-voicedesign-17", func(r *core.Request) { r.Speaker = "vivian" }, core.ErrMode, []string{"speaker", "voice_design"}},
		{"tiny-base-17", func(r *core.Request) { r.Instruct = "sad" }, core.ErrMode, []string{"instruct", "base"}},
		{custom, func(r *core.Request) {}, core.ErrMode, []string{"speaker", "vivian", "dylan"}},
		{custom, func(r *core.Request) { r.Speaker = "\u200b" }, core.ErrMode, []string{"speaker"}},
		{custom, func(r *core.Request) { r.Speaker = "vivien" }, core.ErrInvalid, []string{"speaker", "vivian"}},
		{"tiny-voicedesign-17", func(r *core.Request) {}, core.ErrMode, []string{"instruct"}},
		{custom, func(r *core.Request) { r.Voice = voice(256) }, core.ErrMode, []string{"speaker"}},
		{"tiny-voicedesign-17", func(r *core.Request) { r.Voice, r.Instruct = voice(256), "x" }, core.ErrMode, []string{"ref_", "base"}},
		{custom, func(r *core.Request) { r.Speaker, r.Voice = "vivian", voice(256) }, core.ErrInvalid, []string{"speaker", "reference"}},
		{"tiny-base-17", func(r *core.Request) { r.RefText = "hello" }, core.ErrInvalid, []string{"ref_text"}},
		{"tiny-base-17", func(r *core.Request) { r.Voice = voice(255) }, core.ErrInvalid, []string{"ref_spk_emb", "255", "256"}},
		{"tiny-base-17", func(r *core.Request) { r.Voice = voice(256); r.Voice.XVector[3] = float32(math.NaN()) }, core.ErrInvalid, []string{"ref_spk_emb", "3"}},
		{"tiny-base-17", func(r *core.Request) { r.Voice = voice(256); r.Voice.Codes = [][]int32{make([]int32, 16)} }, core.ErrInvalid, []string{"ref_codes", "ref_text"}},
		{"tiny-base-17", func(r *core.Request) {
			r.Voice, r.RefText = voice(256), "hello there"
			r.Voice.Codes = [][]int32{make([]int32, 16)}
			r.Voice.Codes[0][5] = 512
		}, core.ErrInvalid, []string{"ref_codes", "512"}},
		{"tiny-base-17", func(r *core.Request) { r.Language = "klingon" }, core.ErrInvalid, []string{"lang", "english"}},
	} {
		r := core.DefaultRequest()
		r.Text = "Hello world."
		c.change(&r)
		_, _, err := speak(shared(t, c.model), r)
		require.ErrorIs(t, err, c.kind, "%v", err)
		for _, n := range c.names {
			assert.ErrorContains(t, err, n)
		}
	}
}

var engines struct {
	sync.Mutex
	byModel map[string]*core.Engine
}

// shared is an engine that lives as long as the test process.
func shared(tb testing.TB, model string) *core.Engine {
	tb.Helper()
	engines.Lock()
	defer engines.Unlock()
	if e := engines.byModel[model]; e != nil {
		return e
	}
	e, err := core.Open(core.Options{TalkerPath: golden.GGUF(tb, model, "F32"), CodecPath: golden.GGUF(tb, "tiny-tokenizer-12hz", "F32"),
		Threads: 1, GGMLDir: testenv.GGMLDir(tb)})
	require.NoError(tb, err)
	if engines.byModel == nil {
		engines.byModel = map[string]*core.Engine{}
	}
	engines.byModel[model] = e
	return e
}

func TestParametersAreChecked(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		change func(*core.Request)
		field  string
	}{
		{func(r *core.Request) { r.Text = "" }, "text"},
		{func(r *core.Request) { r.Text = " \t\n\u00a0\u3000\u200b" }, "text"},
		{func(r *core.Request) { r.Text = "?!... 🙂" }, "text"},
		{func(r *core.Request) { r.Text = "abc\xffdef" }, "byte 3"},
		{func(r *core.Request) { r.MaxFrames = 0 }, "max_new_tokens"},
		{func(r *core.Request) { r.MaxFrames = -5 }, "max_new_tokens"},
		{func(r *core.Request) { r.MaxFrames = math.MaxInt32 }, "max_new_tokens"},
		{func(r *core.Request) { r.Talker.Temperature = nan }, "temperature"},
		{func(r *core.Request) { r.Talker.Temperature = inf }, "temperature"},
		{func(r *core.Request) { r.Talker.Temperature = -1 }, "temperature"},
		{func(r *core.Request) { r.Talker.TopP = 0 }, "top_p"},
		{func(r *core.Request) { r.Talker.TopP = nan }, "top_p"},
		{func(r *core.Request) { r.Talker.TopK = -1 }, "top_k"},
		{func(r *core.Request) { r.Talker.RepetitionPenalty = 0 }, "repetition_penalty"},
		{func(r *core.Request) { r.Predictor.Temperature = nan }, "subtalker_temperature"},
		{func(r *core.Request) { r.Predictor.TopP = 2 }, "subtalker_top_p"},
		{func(r *core.Request) { r.Predictor.TopK = -3 }, "subtalker_top_k"},
		{func(r *core.Request) { r.Layout = 9 }, "text_layout"},
		{func(r *core.Request) { r.ChunkFrames = -1 }, "chunk_frames"},
		{func(r *core.Request) { r.ChunkFrames = 65 }, "chunk_frames"},
	} {
		r := sampled(1)
		c.change(&r)
		_, _, err := speak(shared(t, custom), r)
		assert.ErrorIs(t, err, core.ErrInvalid, "%s: %v", c.field, err)
		assert.ErrorContains(t, err, c.field)
	}
}

func TestATextThatIsTooLongIsRefused(t *testing.T) {
	r := sampled(1)
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = "lorem ipsum "[i%12]
	}
	r.Text = string(text)
	_, _, err := speak(shared(t, custom), r)
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.ErrorContains(t, err, "text")
}

// TestTextsOfAbsurdSizeAreNotRead: their tokens would take a hundred times their memory.
func TestTextsOfAbsurdSizeAreNotRead(t *testing.T) {
	huge := strings.Repeat("a", 1<<20+1)
	for field, set := range map[string]func(*core.Request){
		"text":     func(r *core.Request) { r.Text = huge },
		"lang":     func(r *core.Request) { r.Language = huge },
		"speaker":  func(r *core.Request) { r.Speaker = huge },
		"instruct": func(r *core.Request) { r.Instruct = huge },
		"ref_text": func(r *core.Request) { r.RefText = huge },
	} {
		r := sampled(1)
		set(&r)
		_, _, err := speak(shared(t, custom), r)
		assert.ErrorIs(t, err, core.ErrInvalid)
		assert.EqualError(t, err, field+": 1048577 bytes, at most 1048576 are taken")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := core.Options{TalkerPath: golden.GGUF(t, custom, "F32"), CodecPath: golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), Threads: 1, GGMLDir: testenv.GGMLDir(t)}
	for _, c := range []struct {
		change func(*core.Options)
		kind   error
		names  string
	}{
		{func(o *core.Options) { o.TalkerPath = "" }, core.ErrInvalid, "talker_path"},
		{func(o *core.Options) { o.CodecPath = "" }, core.ErrInvalid, "codec_path"},
		{func(o *core.Options) { o.TalkerPath = "/nowhere/x.gguf" }, core.ErrModel, "/nowhere/x.gguf"},
		{func(o *core.Options) { o.TalkerPath = o.CodecPath }, core.ErrModel, "qwen3-tts-tokenizer"},
		{func(o *core.Options) { o.CodecPath = o.TalkerPath }, core.ErrModel, "speech tokenizer"},
		{func(o *core.Options) { o.TalkerPath = golden.Path(t, "audio", "speech_24k.wav") }, core.ErrModel, "speech_24k.wav"},
		{func(o *core.Options) { o.Threads = -1 }, core.ErrInvalid, "threads"},
		{func(o *core.Options) { o.Device = "cuda:77" }, core.ErrInvalid, "no such device; ggml finds CPU"},
		{func(o *core.Options) { o.Device = "cpu,,cpu" }, core.ErrInvalid, "empty name"},
		{func(o *core.Options) { o.ChunkSeconds = float32(math.NaN()) }, core.ErrInvalid, "codec_chunk_sec"},
		{func(o *core.Options) { o.ChunkSeconds = -1 }, core.ErrInvalid, "codec_chunk_sec"},
		{func(o *core.Options) { o.MaxBatch = -1 }, core.ErrInvalid, "max_batch"},
		{func(o *core.Options) { o.Context = -1 }, core.ErrInvalid, "context"},
	} {
		o := good
		c.change(&o)
		_, err := core.Open(o)
		assert.ErrorIs(t, err, c.kind, "%s: %v", c.names, err)
		assert.ErrorContains(t, err, c.names)
	}
}

func TestFacts(t *testing.T) {
	e := shared(t, custom)
	assert.Equal(t, 16, e.NumCodebooks())
	assert.Equal(t, 1, e.FramesFor(0))
	assert.Equal(t, 1, e.FramesFor(float32(math.NaN())))
	assert.Equal(t, 300, e.FramesFor(24))
	assert.Contains(t, e.Speakers(), "vivian")
	assert.Contains(t, e.Languages(), "english")
	assert.Equal(t, "custom_voice", e.ModelType())
	assert.GreaterOrEqual(t, core.DefaultThreads(), 1)
}

func TestDevicesAndSystemInfo(t *testing.T) {
	devices, err := core.Devices(testenv.GGMLDir(t))
	require.NoError(t, err)
	var cpu bool
	for _, d := range devices {
		cpu = cpu || d.Type == "cpu"
	}
	assert.True(t, cpu, "%v", devices)
	info, err := core.SystemInfo(testenv.GGMLDir(t))
	require.NoError(t, err)
	for _, s := range []string{"ggml: 0.", "device: ", "threads: "} {
		assert.Contains(t, info, s)
	}
	t.Log(info)
}
