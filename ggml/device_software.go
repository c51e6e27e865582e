package ggml

import (
	"fmt"
	"strings"
	"unsafe"
)

// Software tells whether a device of a GPU's kind is a program on the CPU (Mesa's llvmpipe, Google's SwiftShader): good
// for tests, slower than the CPU itself.
func (d Device) Software() bool {
	return d.Type != DeviceCPU && (strings.Contains(d.Description, "llvmpipe") || strings.Contains(d.Description, "SwiftShader"))
}

// renew gives the backend of a software device a new context of ggml's before each computation, and with it descriptor sets
// that refer to nothing.
//
// ggml uses its descriptor sets over and over, and each kernel writes only those bindings that it reads. What the others
// still refer to may be gone, which Vulkan allows as long as no shader looks. Mesa's lavapipe 22.3 counts references to all
// of them nonetheless, also to buffers that were freed: counting writes to memory of others, and frees it when the count
// comes to nothing. That cannot be avoided by keeping what a graph has used, since ggml has buffers of its own, which it
// replaces by larger ones amid a computation.
func (b *Backend) renew() error {
	if !b.Software() {
		return nil
	}
	fresh, err := open(b.Device)
	if err != nil {
		return err
	}
	defer fn.ggml_backend_free(fresh.be)
	mine, its := contextOf(b.be, b.dev), contextOf(fresh.be, b.dev)
	if mine == nil || its == nil {
		return fmt.Errorf("ggml: %s: unknown layout of struct ggml_backend", b.Name)
	}
	*mine, *its = *its, *mine // not the backends: ggml's schedulers know them by their addresses
	return nil
}

// contextOf is where a backend has its context: struct ggml_backend are an address, a table of functions, whose length
// differs between versions, the device, and last the context. nil if the device is not found.
func contextOf(be cBackend, dev cDevice) *unsafe.Pointer {
	const word, most = unsafe.Sizeof(uintptr(0)), 32 // of a struct; in 0.26 it has 19
	for i := uintptr(1); i < most; i++ {
		if *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(be), i*word)) == unsafe.Pointer(dev) {
			return (*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(be), (i+1)*word))
		}
	}
	return nil
}
