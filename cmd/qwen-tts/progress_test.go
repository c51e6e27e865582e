package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/libqwen/libqwen/core"
	"github.com/stretchr/testify/assert"
)

func TestDescribe(t *testing.T) {
	assert.Equal(t, "0 frames  0.0 s audio", describe(core.Progress{}, 100))
	p := core.Progress{Frames: 25, MaxFrames: 2048, Elapsed: 3 * time.Second}
	assert.Equal(t, "25 frames  2.0 s audio  RTF 1.50  ETA ~9s", describe(p, 100))
}

func TestEstimateFrames(t *testing.T) {
	english := estimateFrames("The quick brown fox jumps over the lazy dog.") // about 3 s
	assert.InDelta(t, 3, float64(english)/framesPerSecond, 1)
	chinese := estimateFrames("今天天气很好，我们去公园散步吧。")
	assert.InDelta(t, 4, float64(chinese)/framesPerSecond, 1)
	assert.Positive(t, estimateFrames(""))
}

func TestBarOutgrowsItsEstimate(t *testing.T) {
	var out bytes.Buffer
	c := &console{w: &out}
	c.showBar(newBar(&out, "Hi", 2048))
	for f := 1; f <= 200; f++ {
		c.progress(core.Progress{Frames: f, MaxFrames: 2048, Elapsed: time.Duration(f) * 10 * time.Millisecond})
	}
	assert.GreaterOrEqual(t, c.bar.expected, 200)
	c.hideBar()
	assert.Contains(t, out.String(), "1 frames")
	assert.Contains(t, out.String(), "RTF 0.12")
	last := out.String()[strings.LastIndexByte(strings.TrimRight(out.String(), "\r"), '\r')+1:]
	assert.Empty(t, strings.TrimSpace(last), "the bar is wiped at the end")
	assert.NotContains(t, out.String(), "\n")
}

func TestBarStopsAtTheLimit(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&out, strings.Repeat("long text ", 1000), 10)
	assert.Equal(t, 10, b.expected)
	b.update(core.Progress{Frames: 10, MaxFrames: 10, Elapsed: time.Second})
	assert.Equal(t, 10, b.expected)
}

func TestConsoleWritesOneLinePerMessage(t *testing.T) {
	var out bytes.Buffer
	c := &console{w: &out, min: slog.LevelWarn}
	log := c.logger()
	log.Info("not shown")
	log.With("file", "a.gguf").WithGroup("load").Warn("merges restored", "count", 96)
	log.Error("broken\ntwice")
	c.linef("the name %q\r\nends", "x")
	assert.Equal(t, "qwen-tts: warning: merges restored file=a.gguf load.count=96\n"+
		"qwen-tts: error: broken / twice\n"+
		"qwen-tts: the name \"x\" / ends\n", out.String())
}

func TestConsoleMovesTheBarOutOfTheWay(t *testing.T) {
	var out bytes.Buffer
	c := &console{w: &out}
	c.showBar(newBar(&out, "Hi", 100))
	c.progress(core.Progress{Frames: 1, MaxFrames: 100, Elapsed: time.Second})
	c.linef("hello")
	_, message, found := strings.Cut(out.String(), "qwen-tts: ")
	assert.True(t, found)
	assert.Equal(t, "hello\n", message)
	before := strings.TrimSuffix(out.String(), "qwen-tts: hello\n")
	assert.True(t, strings.HasSuffix(before, "\r"), "the message starts at the left edge")
}
