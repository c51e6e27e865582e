package main

// #include "bridge.h"
import "C"

import (
	"github.com/libqwen/libqwen/core"
)

// model is an engine and what C callers may keep pointers to.
type model struct {
	engine   *core.Engine
	speakers []*C.char // lasts until release
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
	m := &model{engine: engine}
	for _, name := range engine.Speakers() {
		m.speakers = append(m.speakers, C.CString(name))
	}
	return m, nil
}

func (m *model) release() {
	defer func() {
		for _, name := range m.speakers {
			cFree(name)
		}
	}()
	if err := m.engine.Close(); err != nil {
		logger.Error("qt_free: " + err.Error())
	}
}
