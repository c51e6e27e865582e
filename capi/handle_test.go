//go:build cgo

package main

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
)

// newTestHandle is a context without a model, and the number of times it was released.
func newTestHandle(t *table, maxCalls int) (id uintptr, released *atomic.Int32) {
	released = new(atomic.Int32)
	return t.add(&model{}, func() { released.Add(1) }, maxCalls), released
}

func TestHandleNumbersAreUsedOnce(t *testing.T) {
	var tab table
	seen := map[uintptr]bool{}
	for range 100 {
		id, released := newTestHandle(&tab, 0)
		assert.NotZero(t, id)
		assert.Equal(t, uintptr(1), id%2, "no allocation has an odd address")
		assert.False(t, seen[id])
		seen[id] = true
		tab.free(id, 1)
		assert.EqualValues(t, 1, released.Load())
	}
	assert.Empty(t, tab.live)
}

func TestStaleHandlesAreRefused(t *testing.T) {
	var tab table
	id, released := newTestHandle(&tab, 0)
	tab.free(id, 1)
	tab.free(id, 1)
	tab.free(0, 1)
	tab.free(12345, 1)
	assert.EqualValues(t, 1, released.Load())
	for _, bad := range []uintptr{0, id, id + 2, 12345} {
		_, err := tab.enter(bad)
		require.ErrorIs(t, err, core.ErrInvalid)
		require.ErrorIs(t, tab.with(bad, func(*model) { t.Error("called") }), core.ErrInvalid)
	}
}

func TestFreeStopsAndWaits(t *testing.T) {
	var tab table
	id, released := newTestHandle(&tab, 0)
	h, err := tab.enter(id)
	require.NoError(t, err)
	require.NoError(t, h.begin(7))

	freed := make(chan struct{})
	go func() {
		tab.free(id, 8)
		close(freed)
	}()
	require.Eventually(t, h.closing.Load, 5*time.Minute, time.Millisecond)
	assert.ErrorIs(t, (&polled{handle: h}).Err(), context.Canceled)
	select {
	case <-freed:
		t.Fatal("free did not wait")
	case <-time.After(10 * time.Millisecond):
	}
	assert.Zero(t, released.Load())
	h.end(7)
	h.leave()
	<-freed
	assert.EqualValues(t, 1, released.Load())
}

func TestFreeFromACallback(t *testing.T) {
	var tab table
	id, released := newTestHandle(&tab, 0)
	h, err := tab.enter(id)
	require.NoError(t, err)
	require.NoError(t, h.begin(7))
	tab.free(id, 7) // would wait for itself
	assert.Zero(t, released.Load())
	_, err = tab.enter(id)
	assert.ErrorIs(t, err, core.ErrInvalid)
	h.end(7)
	h.leave()
	assert.EqualValues(t, 1, released.Load())
}

func TestOneCallPerThreadAndTheQueue(t *testing.T) {
	var tab table
	id, _ := newTestHandle(&tab, 2)
	h, err := tab.enter(id)
	require.NoError(t, err)
	require.NoError(t, h.begin(1))
	assert.ErrorIs(t, h.begin(1), core.ErrInvalid, "from a callback")
	require.NoError(t, h.begin(2))
	assert.ErrorIs(t, h.begin(3), errBusy)
	h.end(1)
	assert.NoError(t, h.begin(3))
}

func TestManyThreadsAndOneFree(t *testing.T) {
	for range 50 {
		var tab table
		id, released := newTestHandle(&tab, 0)
		var inside atomic.Int32
		var threads sync.WaitGroup
		for self := range thread(16) {
			threads.Go(func() {
				for range 20 {
					h, err := tab.enter(id)
					if err != nil {
						assert.ErrorIs(t, err, core.ErrInvalid)
						return
					}
					assert.NoError(t, h.begin(self+1))
					inside.Add(1)
					assert.Zero(t, released.Load())
					inside.Add(-1)
					h.end(self + 1)
					h.leave()
				}
			})
		}
		tab.free(id, 99)
		assert.Zero(t, inside.Load())
		assert.EqualValues(t, 1, released.Load())
		threads.Wait()
	}
}
