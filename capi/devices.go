package main

// #include "bridge.h"
import "C"

import (
	"unicode/utf8"
	"unsafe"

	"github.com/libqwen/libqwen/core"
)

// listDevices is the body of qt_devices: it fills what fits and returns how many there are.
func listDevices(ggmlDir *C.char, to *C.struct_qt_device, capacity C.int, size uintptr) (int, error) {
	if capacity < 0 || capacity > 0 && to == nil {
		return 0, invalid("devices: NULL or a negative capacity (%d)", capacity)
	}
	if capacity > 0 {
		if err := checkSize("size", size, minDevice); err != nil {
			return 0, err
		}
	}
	devices, err := core.Devices(optionalPath(ggmlDir))
	if err != nil {
		return 0, err
	}
	for i, d := range devices[:min(len(devices), int(capacity))] {
		element := (*C.struct_qt_device)(unsafe.Add(unsafe.Pointer(to), uintptr(i)*size))
		writeSized(element, size, newDevice(d))
	}
	return len(devices), nil
}

func newDevice(d core.DeviceInfo) C.struct_qt_device {
	device := C.struct_qt_device{
		_type:        deviceType(d.Type),
		memory_free:  C.uint64_t(d.MemoryFree),
		memory_total: C.uint64_t(d.MemoryTotal),
	}
	setChars(device.name[:], d.Name)
	setChars(device.description[:], d.Description)
	return device
}

func deviceType(name string) C.int {
	switch name {
	case "cpu":
		return C.QT_DEVICE_CPU
	case "gpu":
		return C.QT_DEVICE_GPU
	case "integrated gpu":
		return C.QT_DEVICE_IGPU
	case "accelerator":
		return C.QT_DEVICE_ACCEL
	default:
		return C.QT_DEVICE_OTHER
	}
}

// setChars fills a zeroed char array with as many whole characters as fit before the NUL.
func setChars(to []C.char, s string) {
	s = printable(s)
	n := min(len(s), len(to)-1)
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	for i := range n {
		to[i] = C.char(s[i])
	}
}
