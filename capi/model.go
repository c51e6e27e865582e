package main

// #include "bridge.h"
import "C"

import (
	"slices"

	"github.com/libqwen/libqwen/core"
)

// model is an engine and what C callers may keep pointers to.
type model struct {
	engine *core.Engine

	// These last until release.
	speakers, languages []*C.char
	kind                *C.char
}

// open is the body of qt_init and qt_init_ex.
func open(params C.qwen_init_params, options C.qwen_options) (*C.struct_qt_context, error) {
	opts, queue, err := newOptions(params, options)
	if err != nil {
		return nil, err
	}
	m, err := openModel(opts)
	if err != nil {
		return nil, err
	}
	maxCalls := 0
	if queue > 0 {
		maxCalls = opts.MaxBatch + queue
	}
	return C.qwen_handle(C.uintptr_t(contexts.add(m, m.release, maxCalls))), nil
}

func openModel(opts core.Options) (*model, error) {
	engine, err := core.Open(opts)
	if err != nil {
		return nil, err
	}
	return &model{
		engine:    engine,
		speakers:  newStrings(engine.Speakers()),
		languages: newStrings(engine.Languages()),
		kind:      C.CString(engine.ModelType()),
	}, nil
}

// newStrings are C copies.
func newStrings(names []string) []*C.char {
	copies := make([]*C.char, len(names))
	for i, name := range names {
		copies[i] = C.CString(name)
	}
	return copies
}

// at is element i, NULL out of range.
func at(names []*C.char, i C.int) *C.char {
	if i < 0 || int(i) >= len(names) {
		return nil
	}
	return names[i]
}

func (m *model) release() {
	defer func() {
		for _, name := range slices.Concat(m.speakers, m.languages, []*C.char{m.kind}) {
			cFree(name)
		}
	}()
	if err := m.engine.Close(); err != nil {
		logger.Error("qt_free: " + err.Error())
	}
}
