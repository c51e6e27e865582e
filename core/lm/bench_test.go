package lm_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/testenv"
)

// full loads the full-size random model that `bench/run.sh models` makes; the benchmark is skipped without it.
func full(b *testing.B, threads int) (*lm.Model, *lm.Talker, *lm.CodePredictor, *sample.Sampler) {
	path := filepath.Join(testenv.Root(b), ".bench", "qwen-talker-0.6b-customvoice-Q8_0.gguf")
	if _, err := os.Stat(path); err != nil {
		b.Skipf("no full-size model: %v (bench/run.sh models makes it)", err)
	}
	f, err := model.Open(path, lm.Architecture, "talker")
	require.NoError(b, err)
	b.Cleanup(func() { f.Close() })
	be := testenv.CPU(b, max(threads, 1))
	if threads == crew {
		w := kernels.NewCrew()
		if w == nil {
			b.Skip("there is no crew on this machine")
		}
		b.Cleanup(w.Close)
		be.SetCrew(w.Address())
	}
	m, err := lm.Load(be, f, lm.Options{Spare: math.MaxUint64})
	require.NoError(b, err)
	b.Cleanup(m.Free)
	for m.Pending() > 0 {
		time.Sleep(time.Millisecond)
	}
	talker, err := m.NewTalker(4096, nil)
	require.NoError(b, err)
	b.Cleanup(talker.Close)
	p, err := m.NewCodePredictor(talker.Hidden(), nil)
	require.NoError(b, err)
	b.Cleanup(p.Close)
	s := sample.New(sample.Config{Talker: sample.Params{RepetitionPenalty: 1}, Vocab: m.CodecVocab, EOS: int32(m.CodecVocab - 1)})
	return m, talker, p, s
}

// crew in place of a number of threads is one with the help of a crew.
const crew = 0

func forThreads(b *testing.B, f func(b *testing.B, threads int)) {
	for _, n := range []int{1, 2, crew} {
		name := fmt.Sprintf("threads=%d", n)
		if n == crew {
			name = "crew"
		}
		b.Run(name, func(b *testing.B) { f(b, n) })
	}
}

// BenchmarkPredictor is the 15 codes of a frame.
func BenchmarkPredictor(b *testing.B) {
	forThreads(b, func(b *testing.B, threads int) {
		_, _, p, s := full(b, threads)
		b.ReportAllocs()
		for b.Loop() {
			_, err := p.Frame(7, 0, s)
			require.NoError(b, err)
		}
	})
}

// BenchmarkTalker is one step, in windows of 128 and more as the cache fills.
func BenchmarkTalker(b *testing.B) {
	forThreads(b, func(b *testing.B, threads int) {
		m, talker, _, _ := full(b, threads)
		_, err := talker.Prefill(context.Background(), rows(37), nil)
		require.NoError(b, err)
		codes := make([]int32, m.Codebooks)
		b.ReportAllocs()
		for b.Loop() {
			_, err := talker.Step(codes, 0)
			require.NoError(b, err)
		}
	})
}

// BenchmarkPrefill is a prompt of usual length.
func BenchmarkPrefill(b *testing.B) {
	forThreads(b, func(b *testing.B, threads int) {
		_, talker, _, _ := full(b, threads)
		for b.Loop() {
			_, err := talker.Prefill(context.Background(), rows(37), nil)
			require.NoError(b, err)
		}
	})
}

// rows is a prompt of n positions.
func rows(n int) *prompt.Prompt {
	p := &prompt.Prompt{Overlay: []int32{1}, Pad: 1}
	for i := range n {
		p.Rows = append(p.Rows, prompt.Row{Text: int32(i), Codec: int32(i), RefFrame: prompt.None})
	}
	return p
}

// BenchmarkLanes is a frame of several sequences at once: the codes 1.. and the Talker's step.
func BenchmarkLanes(b *testing.B) {
	m, _, _, _ := full(b, 1)
	for _, lanes := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprint(lanes), func(b *testing.B) {
			talker, err := m.NewTalkerOf(4096, lanes)
			require.NoError(b, err)
			defer talker.Close()
			p, err := m.NewCodePredictorOf(talker.Hidden(), lanes)
			require.NoError(b, err)
			defer p.Close()
			draws, feeds := make([]lm.Draw, lanes), make([]lm.Feed, lanes)
			for i := range lanes {
				require.NoError(b, talker.Start(i, rows(37), nil))
				for done := false; !done; {
					done, err = talker.Advance(i)
					require.NoError(b, err)
				}
				draws[i] = lm.Draw{Lane: i, Code0: 7, Sampler: sample.New(sample.Config{Vocab: m.CodecVocab, EOS: int32(m.CodecVocab - 1)})}
				feeds[i] = lm.Feed{Lane: i, Codes: p.Codes(i)}
			}
			for b.Loop() {
				require.NoError(b, p.FrameAll(draws))
				require.NoError(b, talker.StepAll(feeds))
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*lanes), "ms/frame")
		})
	}
}
