package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/text"
	"github.com/libqwen/libqwen/tests/golden"
)

const story = "One morning it rained. Dr. Smith stayed in bed.\n\n* * *\n\nThen the sun came out! He went for a walk."

// storyPieces are the pieces of story at 26 characters.
var storyPieces = []string{"One morning it rained.", "Dr. Smith stayed in bed.", "Then the sun came out!", "He went for a walk."}

// speakLong collects what a long text becomes.
func speakLong(ctx context.Context, e *core.Engine, r core.Request, o core.LongOptions) ([]float32, core.LongResult, error) {
	var pcm []float32
	res, err := e.SynthesizeLong(ctx, &r, o, func(v []float32) error {
		pcm = append(pcm, v...)
		return nil
	})
	return pcm, res, err
}

// TestALongTextIsItsPieces: the whole is each piece spoken by itself with the same seed, one after the other.
func TestALongTextIsItsPieces(t *testing.T) {
	e := shared(t, custom)
	for _, stream := range []bool{false, true} {
		r := sampled(7)
		r.Text, r.MaxFrames, r.Stream = "\ufeff"+story, 5, stream
		var begun []core.Piece
		got, res, err := speakLong(t.Context(), e, r, core.LongOptions{PieceCharacters: 26, Piece: func(p core.Piece) { begun = append(begun, p) }})
		require.NoError(t, err)

		var want []float32
		tokens := 0
		require.Len(t, res.Pieces, len(storyPieces))
		for i, p := range res.Pieces {
			assert.Equal(t, storyPieces[i], p.Text, "a line of asterisks is nothing to speak")
			assert.Equal(t, storyPieces[i], r.Text[p.Offset:][:len(p.Text)])
			assert.Equal(t, []int{i, len(storyPieces), len(want)}, []int{p.Index, p.Count, p.Sample})
			assert.Equal(t, p.Piece, begun[i])
			one := r
			one.Text = p.Text
			pcm, alone, err := speak(e, one)
			require.NoError(t, err)
			assert.Equal(t, []any{alone.Frames, alone.Finish, alone.Seed, alone.Prompt}, []any{p.Frames, p.Finish, p.Seed, p.Prompt})
			want = append(want, pcm...)
			tokens += alone.TextTokens
		}
		assert.Equal(t, want, got)
		assert.Equal(t, []int{len(got) / 1920, len(got), core.SampleRate, tokens}, []int{res.Frames, res.Samples, res.SampleRate, res.TextTokens})
		assert.EqualValues(t, 7, res.Seed)
		assert.Positive(t, res.Timings.FirstAudio)
		assert.GreaterOrEqual(t, res.Timings.Total, res.Timings.FirstAudio)
	}
}

// TestAShortTextIsOnePiece: then there is no difference but the bound on its frames.
func TestAShortTextIsOnePiece(t *testing.T) {
	want, short, err := speak(shared(t, custom), sampled(3))
	require.NoError(t, err)
	got, res, err := speakLong(t.Context(), shared(t, custom), sampled(3), core.LongOptions{})
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, []any{short.Finish, short.Frames}, []any{res.Finish, res.Frames})
	assert.Len(t, res.Pieces, 1)
}

// TestWhatIsNotSpokenIsLeftOut: paragraphs of signs divide the text, whatever would fit into a piece.
func TestWhatIsNotSpokenIsLeftOut(t *testing.T) {
	for whole, want := range map[string][]string{
		story:                                    {"One morning it rained. Dr. Smith stayed in bed.", "Then the sun came out! He went for a walk."},
		"***\n\n \n One.\n\nTwo.\n---\n\n--\n\n": {"One.\n\nTwo.\n---"},
		"A.\r\n\r\n🙂\r\n\r\nB.":                  {"A.", "B."},
		"A.\n\n...\n\n...\n\nB.":                 {"A.", "B."},
	} {
		r := sampled(1)
		r.Text, r.MaxFrames = whole, 1
		_, res, err := speakLong(t.Context(), shared(t, custom), r, core.LongOptions{})
		require.NoError(t, err)
		var got []string
		for _, p := range res.Pieces {
			assert.Equal(t, p.Text, whole[p.Offset:][:len(p.Text)])
			got = append(got, p.Text)
		}
		assert.Equal(t, want, got)
	}
}

// TestARandomSeedHoldsForAllPieces, and replays the whole.
func TestARandomSeedHoldsForAllPieces(t *testing.T) {
	r := sampled(-1)
	r.Text, r.MaxFrames = story, 3
	first, res, err := speakLong(t.Context(), shared(t, custom), r, core.LongOptions{PieceCharacters: 26})
	require.NoError(t, err)
	for _, p := range res.Pieces {
		assert.Equal(t, res.Seed, p.Seed)
	}
	r.Seed = res.Seed
	again, _, err := speakLong(t.Context(), shared(t, custom), r, core.LongOptions{PieceCharacters: 26})
	require.NoError(t, err)
	assert.Equal(t, first, again)
}

// TestPiecesAreBounded: a piece that finds no end is cut off, which the result says.
func TestPiecesAreBounded(t *testing.T) {
	r := sampled(1)
	r.Text, r.MaxFrames = "Hi. Ho.", 2000
	total := 0
	r.Progress = func(p core.Progress) {
		total++
		assert.Equal(t, []int{total, 18}, []int{p.Frames, p.MaxFrames}, "over all pieces")
	}
	_, res, err := speakLong(t.Context(), shared(t, custom), r, core.LongOptions{PieceCharacters: 3, PieceFrames: 9})
	require.NoError(t, err)
	assert.Equal(t, core.FinishLength, res.Finish)
	assert.Equal(t, []int{9, 9}, []int{res.Pieces[0].Frames, res.Pieces[1].Frames})
	assert.Equal(t, 18, total)

	r.Progress, r.Text = nil, "Hi."
	_, res, err = speakLong(t.Context(), shared(t, custom), r, core.LongOptions{})
	require.NoError(t, err)
	assert.Equal(t, 4*text.Frames("Hi.")+50, res.Frames, "by its text")
}

// TestPiecesMayEndByThemselves: stop is reported if no piece was cut off.
func TestPiecesMayEndByThemselves(t *testing.T) {
	const eos = 614
	e := rigged(t, "talker.codec_head.weight", scaled(-1e4, func(row int) bool { return row == eos }))
	seen := map[core.Finish]bool{}
	for seed := range int64(8) {
		r := sampled(seed)
		r.Text, r.MaxFrames = "One. Two.", 25
		_, res, err := speakLong(t.Context(), e, r, core.LongOptions{PieceCharacters: 5})
		require.NoError(t, err)
		cut := false
		for _, p := range res.Pieces {
			cut = cut || p.Finish == core.FinishLength
		}
		assert.Equal(t, cut, res.Finish == core.FinishLength)
		assert.NotEmpty(t, res.Finish)
		seen[res.Finish] = true
	}
	assert.True(t, seen[core.FinishStop])
}

// TestABaseModelKeepsTheVoiceItPicked: without a reference the first piece gives it to the others.
func TestABaseModelKeepsTheVoiceItPicked(t *testing.T) {
	e := shared(t, base)
	r := cloning(5)
	r.Text, r.MaxFrames = "First of all. And then. The end.", 20
	o := core.LongOptions{PieceCharacters: 14}
	pcm, res, err := speakLong(t.Context(), e, r, o)
	require.NoError(t, err)
	require.Len(t, res.Pieces, 3)
	again, _, err := speakLong(t.Context(), e, r, o)
	require.NoError(t, err)
	assert.Equal(t, pcm, again, "it replays")

	first := pcm[:res.Pieces[1].Sample]
	v, err := e.ExtractVoice(t.Context(), first)
	require.NoError(t, err)
	for _, p := range res.Pieces[1:] {
		one := r
		one.Text, one.Voice = p.Text, &core.Voice{XVector: v.XVector}
		want, _, err := speak(e, one)
		require.NoError(t, err)
		assert.Equal(t, want, pcm[p.Sample:][:p.Samples], p.Text)
	}

	r.RefAudio = clip(t, "speech")
	_, res, err = speakLong(t.Context(), e, r, o)
	require.NoError(t, err)
	one := r
	one.Text = res.Pieces[2].Text
	_, alone, err := speak(e, one)
	require.NoError(t, err)
	assert.Equal(t, alone.Frames, res.Pieces[2].Frames, "a reference is that of every piece")
}

func TestADesignedVoiceIsNotKept(t *testing.T) {
	r := core.DefaultRequest()
	r.Text, r.Instruct, r.MaxFrames, r.Seed = "One. Two.", "A calm man.", 2, 1
	_, res, err := speakLong(t.Context(), shared(t, "tiny-voicedesign-17"), r, core.LongOptions{PieceCharacters: 5})
	require.NoError(t, err)
	require.NotEmpty(t, res.Warnings)
	assert.Contains(t, res.Warnings[0], "voice anew for each piece")
}

// TestALongTextIsCheckedBeforeItIsSpoken: whatever is wrong with any piece is found at once.
func TestALongTextIsCheckedBeforeItIsSpoken(t *testing.T) {
	e := shared(t, custom)
	for name, c := range map[string]struct {
		change func(*core.Request, *core.LongOptions)
		want   string
	}{
		"blank":     {func(r *core.Request, _ *core.LongOptions) { r.Text = " \n " }, "text: blank"},
		"nothing":   {func(r *core.Request, _ *core.LongOptions) { r.Text = "... --- !!!" }, "nothing to speak"},
		"not UTF-8": {func(r *core.Request, _ *core.LongOptions) { r.Text = "abc\xff" }, "text:"},
		"huge":      {func(r *core.Request, _ *core.LongOptions) { r.Text = strings.Repeat("A. ", 2<<20) }, "at most"},
		"no frames": {func(r *core.Request, _ *core.LongOptions) { r.MaxFrames = 0 }, "max_new_tokens"},
		"dump":      {func(r *core.Request, o *core.LongOptions) { r.DumpDir, o.PieceCharacters = t.TempDir(), 26 }, "dump: holds one synthesis"},
		"limit":     {func(_ *core.Request, o *core.LongOptions) { o.PieceCharacters = -1 }, "negative"},
		"frames":    {func(_ *core.Request, o *core.LongOptions) { o.PieceFrames = -1 }, "negative"},
		"language":  {func(r *core.Request, _ *core.LongOptions) { r.Language = "klingon" }, "klingon"},
	} {
		t.Run(name, func(t *testing.T) {
			r, o := sampled(1), core.LongOptions{}
			r.Text = story
			c.change(&r, &o)
			pcm, _, err := speakLong(t.Context(), e, r, o)
			assert.ErrorContains(t, err, c.want)
			assert.ErrorIs(t, err, core.ErrInvalid)
			assert.Zero(t, len(pcm))
		})
	}
}

func TestLaterPiecesAreCheckedFirst(t *testing.T) {
	e := engine(t, custom, func(o *core.Options) { o.Context = 64 })
	r := sampled(1)
	r.Text = strings.Repeat("Short. ", 3) + "\n\n" + strings.Repeat("x ", 60)
	pcm, _, err := speakLong(t.Context(), e, r, core.LongOptions{PieceCharacters: 140})
	assert.ErrorContains(t, err, "piece 2 of 2: ")
	assert.ErrorIs(t, err, core.ErrInvalid)
	assert.Zero(t, len(pcm))
}

// TestALongTextStops: by the receiver or the context, in any piece.
func TestALongTextStops(t *testing.T) {
	e := shared(t, custom)
	r := sampled(1)
	r.Text, r.MaxFrames, r.Stream = story, 3, true
	o := core.LongOptions{PieceCharacters: 26}
	gone := errors.New("receiver gone")
	for after := range 8 {
		samples := 0
		res, err := e.SynthesizeLong(t.Context(), &r, o, func(pcm []float32) error {
			if samples == after*1920 {
				return gone
			}
			samples += len(pcm)
			return nil
		})
		assert.ErrorIs(t, err, core.ErrCancelled)
		assert.ErrorIs(t, err, gone)
		assert.Equal(t, []any{core.FinishCancelled, samples}, []any{res.Finish, res.Samples})
		assert.Len(t, res.Pieces, after/3+1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Piece = func(p core.Piece) {
		if p.Index == 2 {
			cancel()
		}
	}
	pcm, res, err := speakLong(ctx, e, r, o)
	assert.ErrorIs(t, err, core.ErrCancelled)
	assert.Equal(t, core.FinishCancelled, res.Finish)
	assert.Len(t, pcm, 6*1920)
	_, _, err = speakLong(ctx, e, r, o)
	assert.ErrorIs(t, err, core.ErrCancelled)
}

// TestClosingEndsALongText instead of waiting for it.
func TestClosingEndsALongText(t *testing.T) {
	e := engine(t, custom)
	r := sampled(1)
	r.Text, r.MaxFrames = strings.Repeat("Hello there. ", 2000), 3
	closed := make(chan error)
	_, err := e.SynthesizeLong(t.Context(), &r, core.LongOptions{PieceCharacters: 20, Piece: func(p core.Piece) {
		if p.Index == 1 {
			go func() { closed <- e.Close() }()
		}
	}}, func([]float32) error { return nil })
	assert.True(t, errors.Is(err, core.ErrClosed), "%v", err)
	assert.NoError(t, <-closed)
	_, err = e.SynthesizeLong(t.Context(), &r, core.LongOptions{}, nil)
	assert.ErrorIs(t, err, core.ErrClosed)
}

func TestInspectTalker(t *testing.T) {
	info, err := core.InspectTalker(golden.GGUF(t, custom, "F32"))
	require.NoError(t, err)
	e := shared(t, custom)
	assert.Equal(t, []any{e.ModelType(), e.Speakers(), e.Languages(), e.NumCodebooks()}, []any{info.Type, info.Speakers, info.Languages, info.Codebooks})
	for _, path := range []string{golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), "none.gguf", "long_test.go"} {
		_, err := core.InspectTalker(path)
		assert.ErrorIs(t, err, core.ErrModel, path)
		assert.ErrorContains(t, err, path)
	}
}

func ExampleEngine_SynthesizeLong() {
	speak := func(ctx context.Context, eng *core.Engine, book string, play func([]float32) error) error {
		req := eng.DefaultRequest()
		req.Text, req.Speaker, req.Stream = book, "vivian", true
		res, err := eng.SynthesizeLong(ctx, &req, core.LongOptions{Piece: func(p core.Piece) {
			fmt.Printf("%d of %d: %s\n", p.Index+1, p.Count, p.Text)
		}}, play)
		if err == nil && res.Finish == core.FinishLength {
			err = errors.New("a piece was cut off")
		}
		return err
	}
	_ = speak
}
