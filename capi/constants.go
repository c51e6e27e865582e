package main

// #include "bridge.h"
import "C"

import "sync"

// constantStrings are texts whose pointers stay valid as long as the process. They are in C memory, and so are the
// pointers to them.
type constantStrings struct {
	mu   sync.Mutex
	text *constantTable
}

type constantTable = [C.QWEN_CONSTANTS]*C.char

// get returns a text, one of C.QWEN_…_TEXT, which the first call makes; an error is not kept.
func (c *constantStrings) get(i int, create func() (string, error)) (*C.char, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.text[i]; s != nil {
		return s, nil
	}
	text, err := create()
	if err != nil {
		return nil, err
	}
	c.text[i] = C.CString(printable(text))
	return c.text[i], nil
}
