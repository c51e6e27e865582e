package onnx

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"
)

// maxRank is the most dimensions of a tensor.
const maxRank = 8

// tensor is memory of ours with a type and a shape, for a session to read or write. What C has pointers to is pinned
// until free.
type tensor struct {
	lib   *library
	value cValue // 0: no shape yet
	data  unsafe.Pointer
	bytes int
	typ   int32
	rank  int
	shape [maxRank]int64
	args  [7]uintptr // of calls
	pin   runtime.Pinner
}

// newTensor makes a tensor over memory, which holds at least one element. It has no shape yet.
func newTensor[T int64 | float32](l *library, memory []T) *tensor {
	t := &tensor{lib: l, data: unsafe.Pointer(&memory[0]), typ: typeFloat32, bytes: 4 * len(memory)}
	if _, ok := any(memory).([]int64); ok {
		t.typ, t.bytes = typeInt64, 8*len(memory)
	}
	t.pin.Pin(t)
	t.pin.Pin(t.data)
	return t
}

// reshape gives the tensor a shape; the first elements of its memory are what it has then. It allocates nothing of Go's.
func (t *tensor) reshape(shape ...int64) error {
	if t.value != 0 && slices.Equal(t.shape[:t.rank], shape) {
		return nil
	}
	t.drop()
	t.rank = copy(t.shape[:], shape)
	n := elementSize(t.typ)
	for _, d := range shape {
		n *= int(d)
	}
	if t.rank != len(shape) || n > t.bytes {
		return fmt.Errorf("%d dimensions, %d bytes do not fit into a tensor of %d", len(shape), n, t.bytes)
	}
	t.args = [7]uintptr{uintptr(t.lib.memory), uintptr(t.data), uintptr(n), uintptr(unsafe.Pointer(&t.shape)), uintptr(t.rank),
		uintptr(t.typ), uintptr(unsafe.Pointer(&t.value))}
	status, _, _ := purego.SyscallN(t.lib.createTensor, t.args[:]...)
	runtime.KeepAlive(t)
	return t.lib.check(cStatus(status))
}

func elementSize(typ int32) int {
	if typ == typeInt64 {
		return 8
	}
	return 4
}

func (t *tensor) drop() {
	if t.value != 0 {
		t.args[0] = uintptr(t.value)
		purego.SyscallN(t.lib.releaseValue, t.args[:1]...)
		t.value = 0
	}
}

// free releases the tensor; its memory is Go's.
func (t *tensor) free() {
	if t != nil {
		t.drop()
		t.pin.Unpin()
	}
}

// release frees a value that is no tensor's.
func (l *library) release(v cValue) { purego.SyscallN(l.releaseValue, uintptr(v)) }

// call runs a session over and over, with the same inputs and outputs by name. It is made once and pinned until free.
type call struct {
	session  *session
	names    [2][]uintptr // of inputs and outputs: C strings
	in, out  []cValue
	args     [8]uintptr
	pin      runtime.Pinner
	backings [][]byte // of the names
}

func (s *session) newCall(inputs, outputs []string) *call {
	c := &call{session: s, in: make([]cValue, len(inputs)), out: make([]cValue, len(outputs))}
	for i, list := range [2][]string{inputs, outputs} {
		for _, name := range list {
			b := append([]byte(name), 0)
			c.pin.Pin(&b[0])
			c.backings = append(c.backings, b)
			c.names[i] = append(c.names[i], uintptr(unsafe.Pointer(&b[0])))
		}
		c.pin.Pin(&c.names[i][0])
	}
	c.pin.Pin(&c.in[0])
	c.pin.Pin(&c.out[0])
	return c
}

// run computes the outputs: into the values of out, or if one is 0, into a new one that the caller must release.
func (c *call) run() error {
	c.args = [8]uintptr{uintptr(c.session.handle), 0,
		uintptr(unsafe.Pointer(&c.names[0][0])), uintptr(unsafe.Pointer(&c.in[0])), uintptr(len(c.in)),
		uintptr(unsafe.Pointer(&c.names[1][0])), uintptr(len(c.out)), uintptr(unsafe.Pointer(&c.out[0]))}
	l := c.session.lib
	status, _, _ := purego.SyscallN(l.run, c.args[:]...)
	runtime.KeepAlive(c)
	return l.check(cStatus(status))
}

func (c *call) free() {
	if c != nil {
		c.pin.Unpin()
	}
}
