package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/hub"
	"github.com/stretchr/testify/assert"
)

func TestExitCode(t *testing.T) {
	plain := context.Background()
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), 1},
		{core.ErrGenerate, 1},
		{fmt.Errorf("%w: %w", core.ErrGenerate, &fs.PathError{Op: "write", Err: syscall.ENOSPC}), 6}, // of --dump
		{core.ErrInvalid, 2},
		{core.ErrUnsupported, 2},
		{Usagef("flag"), 2},
		{Inputf("text"), 2},
		{FileError(errors.New("content")), 2},
		{FileError(fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Err: fs.ErrNotExist})), 6},
		{core.ErrMode, 3},
		{ModeError{errors.New("other model")}, 3},
		{core.ErrModel, 4},
		{core.ErrBackend, 4},
		{core.ErrMemory, 5},
		{PartialError{IOError{os.ErrNotExist}}, 7},
		{hub.ErrInvalid, 2},
		{hub.ErrNetwork, 6},
		{hub.ErrAccess, 6},
		{hub.ErrCorrupt, 6},
		{IOError{os.ErrNotExist}, 6},
		{fmt.Errorf("%w: %w", core.ErrCancelled, IOError{syscall.ENOSPC}), 6}, // the receiver of the audio failed
	} {
		assert.Equal(t, tc.want, ExitCode(plain, tc.err), "%v", tc.err)
		if tc.err != nil {
			assert.Equal(t, tc.want, ExitCode(plain, fmt.Errorf("wrapped: %w", tc.err)), "%v", tc.err)
		}
	}
}

func TestExitCodeOfSignals(t *testing.T) {
	for signal, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(Interrupted{signal})
		assert.Equal(t, want, ExitCode(ctx, core.ErrCancelled))
		assert.Equal(t, want, ExitCode(ctx, context.Cause(ctx)))
		assert.Equal(t, 0, ExitCode(ctx, nil), "done before the signal came")
	}
}

func TestBuildVersion(t *testing.T) {
	none := func() (*debug.BuildInfo, bool) { return nil, false }
	checkout := func() (*debug.BuildInfo, bool) {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-30T12:00:00Z"}}}, true
	}
	release := func() (*debug.BuildInfo, bool) {
		return &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, true
	}
	assert.Equal(t, "abc (date)", buildVersion("abc (date)", none))
	assert.Equal(t, "unknown", buildVersion("", none))
	assert.Equal(t, "0123456 (2026-11-30)", buildVersion("", checkout))
	assert.Equal(t, "v1.2.3", buildVersion("", release))
}
