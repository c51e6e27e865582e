package main

// #include "bridge.h"
import "C"

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A struct qt_context * of C is the number of a handle in a table, never the address of anything. So NULL,
// freed contexts and stray pointers are found out: a number is used once in the life of the process, and it
// is odd, as no address of an allocation is.

// number is the way from C to the table; C.qwen_handle is the way back.
func number(ctx *C.struct_qt_context) uintptr { return uintptr(unsafe.Pointer(ctx)) }

// table holds the contexts that are alive.
type table struct {
	mu   sync.Mutex // guards everything below and the counters of all handles
	last uintptr
	live map[uintptr]*handle
}

// handle is one context, kept until qt_free was called and the last call inside it has returned.
type handle struct {
	*model
	release  func() // of the model
	table    *table
	maxCalls int // syntheses admitted at a time, waiting ones included; 0 = no limit

	closing atomic.Bool   // qt_free was called: running syntheses are to stop
	closed  chan struct{} // closed when the model is released

	users   int                 // calls inside, and 1 for the table itself
	callers map[thread]struct{} // threads inside a synthesis or extraction
}

// thread identifies an operating system thread for as long as it lives.
type thread uintptr

// currentThread is the caller's thread: an export runs on the thread of its C caller throughout.
func currentThread() thread { return thread(C.qwen_thread()) }

var (
	errBusy  = errors.New("max_queue: as many calls as allowed are waiting already")
	errStale = invalid("ctx: not a context, or freed already")
)

// add makes a handle of a model; release is called once, when the model is no longer in use.
func (t *table) add(m *model, release func(), maxCalls int) uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live == nil {
		t.live = make(map[uintptr]*handle)
		t.last = 0xC0DE_0001 // easily recognised in a debugger
	}
	t.last += 2
	t.live[t.last] = &handle{
		model: m, release: release, table: t, maxCalls: maxCalls,
		closed: make(chan struct{}), users: 1, callers: make(map[thread]struct{}),
	}
	return t.last
}

// enter finds a handle and keeps it alive until leave.
func (t *table) enter(id uintptr) (*handle, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.live[id]
	switch {
	case h != nil:
		h.users++
		return h, nil
	case id == 0:
		return nil, invalid("ctx: NULL")
	default:
		return nil, errStale
	}
}

// with runs f on a context's model.
func (t *table) with(id uintptr, f func(*model)) error {
	h, err := t.enter(id)
	if err != nil {
		return err
	}
	defer h.leave()
	f(h.model)
	return nil
}

// leave ends what enter began; the last one out of a freed context releases it.
func (h *handle) leave() {
	h.table.mu.Lock()
	h.users--
	last := h.users == 0
	h.table.mu.Unlock()
	if last {
		defer close(h.closed)
		h.release()
	}
}

// begin admits a synthesis or extraction, which ends with end.
//
// A thread that is inside one already is in a callback; the engine computes one after the other, so it
// would wait for itself.
func (h *handle) begin(self thread) error {
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	if _, inside := h.callers[self]; inside {
		return invalid("ctx: called from a callback of a synthesis on this context")
	}
	if h.maxCalls > 0 && len(h.callers) >= h.maxCalls {
		return errBusy
	}
	h.callers[self] = struct{}{}
	return nil
}

func (h *handle) end(self thread) {
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	delete(h.callers, self)
}

// free makes the number invalid, stops what runs and waits until the context is released, except for the
// thread whose own call it would wait for.
func (t *table) free(id uintptr, self thread) {
	t.mu.Lock()
	h := t.live[id]
	if h == nil {
		t.mu.Unlock()
		return
	}
	delete(t.live, id)
	h.closing.Store(true)
	_, inside := h.callers[self]
	t.mu.Unlock()

	h.leave()
	if !inside {
		<-h.closed
	}
}
