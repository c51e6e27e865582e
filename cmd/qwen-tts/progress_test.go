package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/libqwen/libqwen/core"
)

func TestDescribe(t *testing.T) {
	assert.Equal(t, "0 frames  0.0 s audio", describe(core.Progress{}, 100))
	p := core.Progress{Frames: 25, MaxFrames: 2048, Elapsed: 3 * time.Second}
	assert.Equal(t, "25 frames  2.0 s audio  RTF 1.50  ETA ~9s", describe(p, 100))
}

func TestBarOutgrowsItsEstimate(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&out, "Hi", 2048)
	for f := 1; f <= 200; f++ {
		b.update(core.Progress{Frames: f, MaxFrames: 2048, Elapsed: time.Duration(f) * 10 * time.Millisecond})
	}
	assert.GreaterOrEqual(t, b.expected, 200)
	b.clear()
	assert.Contains(t, out.String(), "1 frames")
	assert.Contains(t, out.String(), "RTF 0.12")
	assert.True(t, strings.HasSuffix(out.String(), "\r"), "what is printed next starts at the left edge")
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
