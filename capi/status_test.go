//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libqwen/libqwen/core"
)

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{core.ErrInvalid, -1},
		{invalid("text: NULL"), -1},
		{core.ErrClosed, -1},
		{core.ErrMode, -2},
		{core.ErrGenerate, -3},
		{core.ErrModel, -3},
		{core.ErrBackend, -3},
		{core.ErrUnsupported, -3},
		{errors.New("of no kind"), -3},
		{errBusy, -3},
		{core.ErrMemory, -4},
		{memoryError("3 bytes"), -4},
		{core.ErrCancelled, -5},
		{context.Canceled, -5},
		{fmt.Errorf("%w: %w", core.ErrCancelled, memoryError("the receiver of the audio ran out")), -4},
	} {
		assert.EqualValues(t, c.want, status(c.err), "%v", c.err)
		if c.err != nil {
			assert.EqualValues(t, c.want, status(fmt.Errorf("outer: %w", c.err)), "wrapped %v", c.err)
		}
	}
}

func TestGuardContainsPanics(t *testing.T) {
	for name, body := range map[string]func() error{
		"value": func() error { panic("a value") },
		"error": func() error { panic(core.ErrMode) },
		"nil dereference": func() error {
			var m *model
			_ = m.speakers[0]
			return nil
		},
		"index": func() error {
			var none []int
			_ = none[len(none)]
			return nil
		},
	} {
		assert.EqualValues(t, -3, guard("qt_test", body), name)
	}
}

func TestPanicMessage(t *testing.T) {
	err := func() (err error) {
		defer func() { err = panicked("qt_test", recover()) }()
		panic("the reason")
	}()
	assert.Regexp(t, `^qt_test: internal error: the reason at .*status_test\.go:\d+$`, err.Error())
}

func TestPrintable(t *testing.T) {
	assert.Equal(t, "käse", printable("käse"))
	assert.Equal(t, "a\uFFFDb\uFFFDc", printable("a\xffb\x00c"))
}
