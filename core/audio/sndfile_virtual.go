package audio

import (
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// virtualFile is what libsndfile reads or writes in the place of a file.
type virtualFile interface {
	length() int64
	// seek moves to an offset from the start (0), here (1) or the end (2), and returns the place, or -1 if there is none.
	seek(offset int64, whence int32) int64
	tell() int64
	read(dst []byte) int64
	write(src []byte) int64
}

// virtualIO is SF_VIRTUAL_IO: C functions that work on a virtual file.
type virtualIO struct{ length, seek, read, write, tell uintptr }

// virtualFiles are the ones that are open. C knows them by number, so that it holds no Go pointer.
type virtualFiles struct {
	mu   sync.RWMutex
	last uintptr
	open map[uintptr]virtualFile
}

func (v *virtualFiles) add(f virtualFile) uintptr {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open == nil {
		v.open = map[uintptr]virtualFile{}
	}
	v.last++
	v.open[v.last] = f
	return v.last
}

func (v *virtualFiles) remove(id uintptr) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.open, id)
}

func (v *virtualFiles) get(id uintptr) virtualFile {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.open[id]
}

// callbacks makes the C functions. They are never freed, so this is done once.
func (v *virtualFiles) callbacks() virtualIO {
	return virtualIO{
		length: purego.NewCallback(func(id uintptr) int64 { return v.get(id).length() }),
		seek:   purego.NewCallback(func(offset int64, whence int32, id uintptr) int64 { return v.get(id).seek(offset, whence) }),
		read:   purego.NewCallback(func(dst *byte, n int64, id uintptr) int64 { return v.get(id).read(cBytes(dst, n)) }),
		write:  purego.NewCallback(func(src *byte, n int64, id uintptr) int64 { return v.get(id).write(cBytes(src, n)) }),
		tell:   purego.NewCallback(func(id uintptr) int64 { return v.get(id).tell() }),
	}
}

// cBytes are n bytes of C's; none if there is no sense in the arguments.
func cBytes(p *byte, n int64) []byte {
	if p == nil || n <= 0 {
		return nil
	}
	return unsafe.Slice(p, n)
}

// place is where an offset leads to in a file of that length, -1 if outside.
func place(offset int64, whence int32, at, length int64) int64 {
	base := [...]int64{0, at, length}
	if whence < 0 || int(whence) >= len(base) {
		return -1
	}
	if to := base[whence] + offset; to >= 0 && to <= length {
		return to
	}
	return -1
}

// memory is a virtual file that is read.
type memory struct {
	data []byte
	pos  int64
}

func (m *memory) length() int64 { return int64(len(m.data)) }

func (m *memory) tell() int64 { return m.pos }

func (m *memory) seek(offset int64, whence int32) int64 {
	to := place(offset, whence, m.pos, m.length())
	if to >= 0 {
		m.pos = to
	}
	return to
}

func (m *memory) read(dst []byte) int64 {
	n := copy(dst, m.data[m.pos:])
	m.pos += int64(n)
	return int64(n)
}

func (m *memory) write([]byte) int64 { return 0 }
