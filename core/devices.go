package core

import (
	"fmt"
	"strings"

	"github.com/libqwen/libqwen/ggml"
)

// DeviceInfo describes a device that ggml knows of.
type DeviceInfo struct {
	Name        string // as ggml calls it, for example "CPU" or "Vulkan0"
	Description string
	Type        string // "cpu", "gpu", "integrated gpu" or "accelerator"
	MemoryFree  uint64 // bytes; 0 if unknown
	MemoryTotal uint64
	Problem     string // why models cannot run on it; "" if it passed the self-test
}

// Devices loads every backend of ggml's libraries in ggmlDir ("" searches, see ggml.Load), and lists and tests the devices.
func Devices(ggmlDir string) ([]DeviceInfo, error) {
	if err := ggml.Load(ggmlDir); err != nil {
		return nil, as(ErrBackend, err)
	}
	ggml.LoadAccelerators()
	var out []DeviceInfo
	for _, d := range ggml.Devices() {
		free, total := d.Memory()
		out = append(out, DeviceInfo{Name: d.Name, Description: d.Description, Type: d.Type.String(), MemoryFree: free, MemoryTotal: total,
			Problem: problem(d)})
	}
	return out, nil
}

// problem is what keeps models from running on a device.
func problem(d ggml.Device) string {
	be, err := openTested(d, 1)
	if err != nil {
		return err.Error()
	}
	be.Close()
	return ""
}

// openTested opens a device and compares it with the CPU.
func openTested(d ggml.Device, threads int) (*ggml.Backend, error) {
	if d.Type == ggml.DeviceAccel {
		return nil, fmt.Errorf("%s helps the CPU and runs no models by itself", d.Name)
	}
	be, err := ggml.Open(d, threads)
	if err != nil {
		return nil, err
	}
	if err := be.SelfTest(); err != nil {
		be.Close()
		return nil, err
	}
	return be, nil
}

// SystemInfo tells ggml's version, where it was loaded from, its backends' devices and the processor's features, a fact a line.
func SystemInfo(ggmlDir string) (string, error) {
	devices, err := Devices(ggmlDir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	where := ggml.Dir()
	if where == "" {
		where = "the system's library path"
	}
	fmt.Fprintf(&b, "ggml: %s from %s\n", ggml.Version(), where)
	if v := ggml.CPUVariant(); v != "" {
		fmt.Fprintf(&b, "cpu backend: %s\n", v)
	}
	for _, d := range devices {
		fmt.Fprintf(&b, "device: %s, %s, %s, %.0f of %.0f MiB free, %s\n", d.Name, d.Type, d.Description, mib(d.MemoryFree), mib(d.MemoryTotal), d.Verdict())
	}
	for _, d := range ggml.Devices() {
		if d.Type == ggml.DeviceCPU {
			fmt.Fprintf(&b, "cpu features: %s\n", strings.Join(ggml.Features(d), " "))
		}
	}
	fmt.Fprintf(&b, "threads: %d by default\n", DefaultThreads())
	return b.String(), nil
}

// Verdict says whether models can run on the device.
func (d DeviceInfo) Verdict() string {
	if d.Problem == "" {
		return "works"
	}
	return "does not work: " + d.Problem
}
