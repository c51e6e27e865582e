package core

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// manual is a group without its goroutine, whose turns a test takes.
func manual(t *testing.T, n int) *group {
	t.Setenv(ggml.EnvDir, testenv.GGMLDir(t))
	e, err := Open(Options{TalkerPath: golden.GGUF(t, "tiny-customvoice-17", "F32"), CodecPath: golden.GGUF(t, "tiny-tokenizer-12hz", "F32"),
		Device: "cpu", Threads: 1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	g := &group{e: e, wake: make(chan struct{}, 1), ended: make(chan struct{}), lanes: make([]*place, n)}
	require.NoError(t, g.open(n))
	t.Cleanup(g.release)
	return g
}

// speaking takes turns until a place has joined and hears of its first frame.
func speaking(t *testing.T, g *group, p *place) {
	req := g.e.DefaultRequest()
	req.Text, req.Speaker, req.Seed, req.MaxFrames = "Hello world.", "vivian", 1, 100
	u, err := g.e.plan(&req)
	require.NoError(t, err)
	u.ctx = context.Background()
	require.NoError(t, p.begin(u))
	for len(p.events) == 0 {
		require.True(t, g.turn())
	}
	ev := <-p.events
	require.NoError(t, ev.err)
	require.NotNil(t, ev.codes)
}

// last is the error that a place hears of at the end.
func last(p *place) (err error) {
	for len(p.events) > 0 {
		ev := <-p.events
		err = ev.err
	}
	return err
}

// TestAPanicBetweenFramesIsEverybodysError: of what no lane's guard covers, here the move of one to another.
func TestAPanicBetweenFramesIsEverybodysError(t *testing.T) {
	g := manual(t, 3)
	for _, p := range g.places {
		speaking(t, g, p)
	}
	require.Equal(t, g.places, g.lanes)
	g.free(0) // the last one would move here
	g.places[0].end()

	talker := g.talker
	g.talker = &lm.Talker{}
	assert.True(t, g.turn())
	g.talker = talker
	for _, p := range g.places[1:] {
		assert.ErrorContains(t, last(p), "panic: runtime error")
		p.end() // nobody waits for the group to let go
	}
	assert.Equal(t, make([]*place, 3), g.lanes)
	assert.False(t, g.turn(), "nothing is left to do")

	for _, p := range g.places {
		speaking(t, g, p)
		p.left.Store(true)
		for len(p.freed) == 0 {
			g.turn()
		}
		p.end()
	}
}

func TestAPanicOfWhatRunsTogetherIsAnError(t *testing.T) {
	fine := func() error { return nil }
	assert.EqualError(t, together(fine, func() error { panic("boo") }, func() error { return errors.New("later") }), "panic: boo")
	assert.NoError(t, together(fine, fine))
}
