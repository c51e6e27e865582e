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
}

// Devices loads every backend of ggml's libraries in ggmlDir ("" searches, see ggml.Load) and lists the devices.
func Devices(ggmlDir string) ([]DeviceInfo, error) {
	if err := ggml.Load(ggmlDir); err != nil {
		return nil, as(ErrBackend, err)
	}
	ggml.LoadAccelerators()
	var out []DeviceInfo
	for _, d := range ggml.Devices() {
		free, total := d.Memory()
		out = append(out, DeviceInfo{Name: d.Name, Description: d.Description, Type: d.Type.String(), MemoryFree: free, MemoryTotal: total})
	}
	return out, nil
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
		fmt.Fprintf(&b, "device: %s, %s, %s, %.0f of %.0f MiB free\n", d.Name, d.Type, d.Description, mib(d.MemoryFree), mib(d.MemoryTotal))
	}
	for _, d := range ggml.Devices() {
		if d.Type == ggml.DeviceCPU {
			fmt.Fprintf(&b, "cpu features: %s\n", strings.Join(ggml.Features(d), " "))
		}
	}
	fmt.Fprintf(&b, "threads: %d by default\n", DefaultThreads())
	return b.String(), nil
}
