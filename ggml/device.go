package ggml

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// DeviceType tells kinds of devices apart.
type DeviceType int32

// The kinds of devices, in ggml's numbering.
const (
	DeviceCPU   DeviceType = 0
	DeviceGPU   DeviceType = 1
	DeviceIGPU  DeviceType = 2
	DeviceAccel DeviceType = 3
)

func (t DeviceType) String() string {
	switch t {
	case DeviceCPU:
		return "cpu"
	case DeviceGPU:
		return "gpu"
	case DeviceIGPU:
		return "integrated gpu"
	case DeviceAccel:
		return "accelerator"
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Device is something that computes.
type Device struct {
	dev               cDevice
	Name, Description string
	Backend           string // the ggml backend it belongs to, such as CPU or Vulkan
	Type              DeviceType
}

// Memory tells the device's free and total memory in bytes; 0 if it does not know.
func (d Device) Memory() (free, total uint64) {
	var f, t uintptr
	fn.ggml_backend_dev_memory(d.dev, &f, &t)
	return uint64(f), uint64(t)
}

// Devices lists the devices of the backends loaded so far.
func Devices() []Device {
	n := fn.ggml_backend_dev_count()
	out := make([]Device, 0, n)
	for i := range n {
		d := fn.ggml_backend_dev_get(i)
		out = append(out, Device{
			dev: d, Name: fn.ggml_backend_dev_name(d), Description: fn.ggml_backend_dev_description(d),
			Backend: fn.ggml_backend_reg_name(fn.ggml_backend_dev_backend_reg(d)), Type: DeviceType(fn.ggml_backend_dev_type(d)),
		})
	}
	return out
}

// CPUDevice is the processor.
func CPUDevice() (Device, error) {
	for _, d := range Devices() {
		if d.Type == DeviceCPU {
			return d, nil
		}
	}
	return Device{}, errors.New("ggml: no CPU device")
}

// Features of the CPU backend as name=value words, for example "AVX512 = 1"; empty where it does not tell.
func Features(d Device) []string {
	addr := fn.ggml_backend_reg_get_proc_address(fn.ggml_backend_dev_backend_reg(d.dev), "ggml_backend_get_features")
	if addr == 0 {
		return nil
	}
	type feature struct{ name, value *byte }
	var get func(cReg) *feature
	purego.RegisterFunc(&get, addr)
	var out []string
	for p := get(fn.ggml_backend_dev_backend_reg(d.dev)); p != nil && p.name != nil; p = (*feature)(unsafe.Add(unsafe.Pointer(p), unsafe.Sizeof(*p))) {
		out = append(out, strings.TrimSpace(goString(p.name)+"="+goString(p.value)))
	}
	return out
}

// Backend is an open device with its worker threads.
type Backend struct {
	Device
	be      cBackend
	buft    cBuft
	align   uintptr
	host    bool   // its memory is the host's
	limit   uint64 // see Limit
	threads int
	pool    unsafe.Pointer
	procs   struct {
		poolFree func(unsafe.Pointer)
	}

	crew   int64           // for kernels, see SetCrew
	helper *Backend        // the CPU, for operations that the device lacks; nil on the CPU
	lacks  map[string]bool // operations that were met and that the device lacks
}

// OpenCPU opens the CPU with its own pool of threads (at least one: the caller's).
func OpenCPU(threads int) (*Backend, error) {
	d, err := CPUDevice()
	if err != nil {
		return nil, err
	}
	return Open(d, threads)
}

func open(d Device) (*Backend, error) {
	be := fn.ggml_backend_dev_init(d.dev, nil)
	if be == nil {
		return nil, fmt.Errorf("ggml: device %s could not be opened", d.Name)
	}
	b := &Backend{Device: d, be: be, buft: fn.ggml_backend_get_default_buffer_type(be), threads: 1}
	b.host = fn.ggml_backend_buft_is_host(b.buft)
	b.align = fn.ggml_backend_buft_get_alignment(b.buft)
	return b, nil
}

// threadpoolParamsSize is at least sizeof(struct ggml_threadpool_params): a mask of 512 CPUs and five words.
const threadpoolParamsSize = 1024

// startThreads gives the CPU backend a pool that lives as long as it does;
// without one ggml starts and ends its threads in every Compute.
func (b *Backend) startThreads() error {
	reg := fn.ggml_backend_dev_backend_reg(b.dev)
	var (
		setThreads func(cBackend, int32)
		poolNew    func(unsafe.Pointer) unsafe.Pointer
		setPool    func(cBackend, unsafe.Pointer)
	)
	for _, s := range []symbol{
		{"ggml_backend_set_n_threads", &setThreads},
		{"ggml_threadpool_new", &poolNew},
		{"ggml_threadpool_free", &b.procs.poolFree},
		{"ggml_backend_cpu_set_threadpool", &setPool},
	} {
		addr := fn.ggml_backend_reg_get_proc_address(reg, s.name)
		if addr == 0 {
			return fmt.Errorf("ggml: the CPU backend lacks %s", s.name)
		}
		purego.RegisterFunc(s.dst, addr)
	}
	setThreads(b.be, int32(b.threads))
	if b.threads == 1 {
		return nil
	}
	var params [threadpoolParamsSize]byte
	fn.ggml_threadpool_params_init(unsafe.Pointer(&params[0]), int32(b.threads))
	if b.pool = poolNew(unsafe.Pointer(&params[0])); b.pool == nil {
		return fmt.Errorf("ggml: %d threads could not be started", b.threads)
	}
	setPool(b.be, b.pool)
	return nil
}

// Threads of the backend.
func (b *Backend) Threads() int { return b.threads }

// Close releases the backend. Its graphs and arenas must be freed before.
func (b *Backend) Close() {
	if b.be == nil {
		return
	}
	fn.ggml_backend_free(b.be)
	if b.helper != nil {
		b.helper.Close()
	}
	if b.pool != nil {
		b.procs.poolFree(b.pool)
	}
	b.be, b.pool = nil, nil
}
