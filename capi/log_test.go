//go:build cgo

package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAttributesAreRendered(t *testing.T) {
	h := logHandler{}.WithAttrs([]slog.Attr{slog.Int("n", 1)}).WithGroup("g").WithGroup("").
		WithAttrs([]slog.Attr{slog.String("s", "x")}).(logHandler)
	var b strings.Builder
	b.WriteString(h.attrs)
	appendAttr(&b, h.group, slog.Group("sub", slog.Bool("yes", true), slog.Group("", slog.Int("inline", 2))))
	appendAttr(&b, h.group, slog.Attr{})
	assert.Equal(t, " n=1 g.s=x g.sub.yes=true g.sub.inline=2", b.String())
}

func TestLogLevels(t *testing.T) {
	for level, want := range map[slog.Level]int{
		slog.LevelDebug - 4: 0, slog.LevelDebug: 0, slog.LevelInfo: 1, slog.LevelInfo + 1: 1,
		slog.LevelWarn: 2, slog.LevelError: 3, slog.LevelError + 8: 3,
	} {
		assert.EqualValues(t, want, logLevel(level), level)
	}
}
