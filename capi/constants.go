package main

// #include "bridge.h"
import "C"

import "sync"

// constantStrings are texts whose pointers stay valid as long as the process.
type constantStrings struct {
	mu   sync.Mutex
	text map[string]*C.char
}

// get returns the text of that name, which the first call makes; an error is not kept.
func (c *constantStrings) get(name string, create func() (string, error)) (*C.char, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.text[name]; s != nil {
		return s, nil
	}
	text, err := create()
	if err != nil {
		return nil, err
	}
	if c.text == nil {
		c.text = make(map[string]*C.char)
	}
	s := C.CString(printable(text))
	c.text[name] = s
	return s, nil
}
