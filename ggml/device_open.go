package ggml

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// ErrNoDevice: no device has that name.
var ErrNoDevice = errors.New("no such device")

// FindDevice finds a device by what people call it: a name that Devices lists ("Vulkan0"), a backend and a number
// ("vulkan:0", "cuda:1"), or a backend alone, whose first device it is ("metal"). Upper and lower case are the same. The error, which lists all names, is ErrNoDevice.
func FindDevice(name string) (Device, error) {
	all := Devices()
	want := strings.ReplaceAll(strings.ToLower(name), ":", "")
	nth := map[string]int{}
	var names []string
	for _, d := range all {
		backend := backendAlias(d.Backend)
		i := nth[backend]
		nth[backend]++
		switch want {
		case strings.ToLower(d.Name), backend + strconv.Itoa(i):
			return d, nil
		case backend:
			return d, nil // the first one comes first
		}
		names = append(names, d.Name)
	}
	return Device{}, fmt.Errorf("%w; ggml finds %s", ErrNoDevice, strings.Join(names, ", "))
}

// backendAlias is what people call a backend.
func backendAlias(backend string) string {
	if backend == "MTL" {
		return "metal"
	}
	return strings.ToLower(backend)
}

// Open opens a device. The CPU gets a pool of threads, at least one, the caller's; beside another device the CPU computes,
// with one thread, what that device has no operation for.
func Open(d Device, threads int) (*Backend, error) {
	b, err := open(d)
	if err != nil {
		return nil, err
	}
	if d.Type == DeviceCPU {
		b.threads = max(threads, 1)
		err = b.startThreads()
	} else {
		b.lacks = map[string]bool{}
		b.helper, err = OpenCPU(1)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Host tells whether the backend's memory is the host's.
func (b *Backend) Host() bool { return b.host }

// props is what is used of struct ggml_backend_dev_props.
type props struct{ fromHostPtr bool }

// propsSize is at least sizeof(struct ggml_backend_dev_props), capsAt the place of its capabilities.
const (
	propsSize = 256
	capsAt    = 48
)

func (d Device) props() props {
	var p [propsSize / 8]uint64
	fn.ggml_backend_dev_get_props(d.dev, unsafe.Pointer(&p))
	caps := (*[4]bool)(unsafe.Add(unsafe.Pointer(&p), capsAt)) // async, host_buffer, buffer_from_host_ptr, events
	return props{fromHostPtr: caps[2]}
}

// checkRoom refuses what a device with memory of its own has no room for: some drivers would hand out memory of the
// host instead, and compute at a crawl.
func (b *Backend) checkRoom(bytes uint64) error {
	if b.limit > 0 && bytes > b.limit {
		return fmt.Errorf("ggml: %s: %w: %d bytes wanted, the limit is %d", b.Name, ErrMemory, bytes, b.limit)
	}
	if b.Type != DeviceGPU {
		return nil
	}
	if free, total := b.Memory(); total > 0 && bytes > free {
		return b.noRoom(bytes)
	}
	return nil
}

// Limit refuses Arenas of more bytes, 0 none, as if there were no memory for them. It must not be called while others use
// the backend.
func (b *Backend) Limit(bytes uint64) { b.limit = bytes }

// noRoom is the error of an allocation that failed.
func (b *Backend) noRoom(bytes uint64) error {
	if free, total := b.Memory(); total > 0 {
		return fmt.Errorf("ggml: %s: %w: %d bytes wanted, %d of %d are free", b.Name, ErrMemory, bytes, free, total)
	}
	return fmt.Errorf("ggml: %s: %w: %d bytes wanted", b.Name, ErrMemory, bytes)
}
