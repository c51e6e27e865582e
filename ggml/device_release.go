package ggml

import "strings"

// Software tells whether a device of a GPU's kind is a program on the CPU (Mesa's llvmpipe, Google's SwiftShader): good
// for tests, slower than the CPU itself.
func (d Device) Software() bool {
	return d.Type != DeviceCPU && (strings.Contains(d.Description, "llvmpipe") || strings.Contains(d.Description, "SwiftShader"))
}

// release frees memory of the device, at once if it may.
//
// With Mesa's lavapipe 22.3, graphs computed after the buffers of others had been freed corrupted the heap, in the driver's
// own threads; without any freeing they never did. The likely reason: ggml uses its descriptor sets over and over, and each
// kernel writes only those bindings that it reads; the others may refer to what is gone, which Vulkan allows as long as
// no shader looks. So on software devices memory is kept until the backend, with its sets, is closed.
func (b *Backend) release(free func()) {
	if b.Software() {
		b.kept = append(b.kept, free)
		return
	}
	free()
}

// releaseKept frees what release has kept, once ggml's side of the backend is gone.
func (b *Backend) releaseKept() {
	for _, free := range b.kept {
		free()
	}
	b.kept = nil
}
