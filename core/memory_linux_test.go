package core_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/sample"
)

// smallPages keeps the kernel from making huge pages of this process's memory, which it does when it likes, and which
// would look like growth.
func smallPages(t *testing.T) {
	t.Helper()
	require.NoError(t, unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0))
	t.Cleanup(func() { require.NoError(t, unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0)) })
}

// allocated is the memory of this process in bytes, in RAM or swapped out, after Go has given back what it does not use.
// Pages of files, which the kernel reads and drops as it likes, do not count. (Unlike the numbers in /proc/self/status
// these are exact, however many processors there are.)
func allocated(t *testing.T) (bytes int) {
	t.Helper()
	debug.FreeOSMemory()
	rollup, err := os.ReadFile("/proc/self/smaps_rollup")
	require.NoError(t, err)
	for line := range strings.Lines(string(rollup)) {
		var kib int
		for _, kind := range []string{"Anonymous:", "Swap:"} {
			if n, _ := fmt.Sscanf(line, kind+" %d kB", &kib); n == 1 {
				bytes += kib << 10
			}
		}
	}
	require.Positive(t, bytes, "%s", rollup)
	return bytes
}

// kinds are requests of every sort, those included that fail or are stopped; each tells how it must end.
func kinds(t *testing.T) map[string]func(e *core.Engine, seed int64) error {
	pcm := clip(t, "speech")[:24000]
	say := func(change func(*core.Request), want error) func(*core.Engine, int64) error {
		return func(e *core.Engine, seed int64) error {
			r := cloning(seed)
			r.MaxFrames = 3
			change(&r)
			_, err := e.Synthesize(context.Background(), &r, func([]float32) error { return nil })
			return unexpected(err, want)
		}
	}
	stopped := func(ctx func() context.Context, emit func([]float32) error) func(*core.Engine, int64) error {
		return func(e *core.Engine, seed int64) error {
			r := cloning(seed)
			r.Stream = true
			_, err := e.Synthesize(ctx(), &r, emit)
			return unexpected(err, core.ErrCancelled)
		}
	}
	return map[string]func(*core.Engine, int64) error{
		"buffered":            say(func(*core.Request) {}, nil),
		"streamed":            say(func(r *core.Request) { r.Stream = true }, nil),
		"streamed by fours":   say(func(r *core.Request) { r.Stream, r.ChunkFrames = true, 4 }, nil),
		"recording":           say(func(r *core.Request) { r.Voice, r.RefText, r.RefAudio = nil, "", pcm }, nil),
		"other recordings":    func(e *core.Engine, seed int64) error { return say(recorded(pcm, seed), nil)(e, seed) },
		"no text":             say(func(r *core.Request) { r.Text = "" }, core.ErrInvalid),
		"silent recording":    say(func(r *core.Request) { r.Voice, r.RefAudio = nil, make([]float32, 24000) }, core.ErrInvalid),
		"speaker":             say(func(r *core.Request) { r.Speaker = "vivian" }, core.ErrMode),
		"cancelled at once":   stopped(func() context.Context { return &countdown{context.Background(), 0} }, func([]float32) error { return nil }),
		"cancelled later":     stopped(func() context.Context { return &countdown{context.Background(), 6} }, func([]float32) error { return nil }),
		"stopped by receiver": stopped(context.Background, func([]float32) error { return errStop }),
	}
}

// recorded asks for one of 16 voices: what is remembered of them does not grow any more once all were asked for.
func recorded(pcm []float32, seed int64) func(*core.Request) {
	return func(r *core.Request) {
		other := append([]float32(nil), pcm...)
		other[100] += float32(seed%16) / 1000
		r.Voice, r.RefText, r.RefAudio = nil, "Hello there.", other
	}
}

// unexpected is an error unless err is of the kind wanted, or nil as wanted.
func unexpected(err, want error) error {
	if errors.Is(err, want) || err == nil && want == nil {
		return nil
	}
	return fmt.Errorf("%v is not %v", err, want)
}

// TestRequestsLeaveNothingBehind: the memory is what it was after some requests of every kind.
func TestRequestsLeaveNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("500 requests")
	}
	smallPages(t)
	e := engine(t, base)
	all := kinds(t)
	names := slices.Sorted(maps.Keys(all))
	run := func(from, n int) {
		for i := from; i < from+n; i++ {
			name := names[i%len(names)]
			require.NoError(t, all[name](e, int64(i)), name)
		}
	}
	run(0, 220) // the caches are full then
	before := allocated(t)
	run(220, 500)
	grown := allocated(t) - before
	t.Logf("%d KiB more after 500 requests", grown>>10)
	assert.Less(t, grown, 4<<20)
}

// TestALongSpeechNeedsNoMoreMemory than its cache, which doubles: 2,000 frames.
func TestALongSpeechNeedsNoMoreMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("2,000 frames")
	}
	smallPages(t)
	const eos = 614
	e := rigged(t, "talker.codec_head.weight", scaled(0, func(row int) bool { return row == eos })) // is never the best
	r := sampled(3)
	r.Talker = sample.Params{TopP: 1, RepetitionPenalty: 1}
	r.Stream, r.MaxFrames = true, 2000
	var at [2]int
	frames := 0
	res, err := e.Synthesize(context.Background(), &r, func([]float32) error {
		switch frames++; frames {
		case 1100: // the cache has its last size then
			at[0] = allocated(t)
		case 2000:
			at[1] = allocated(t)
		}
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 2000, res.Frames)
	assert.Equal(t, 2000*1920, res.Samples)
	const position = 3 * 2 * 2 * 64 * 2 // bytes of the cache that a frame fills: layers, keys and values, heads, their size, F16
	grown := at[1] - at[0] - 900*position
	t.Logf("%d KiB more after 900 frames", grown>>10)
	assert.Less(t, grown, 1<<20)
}
