package core

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/libqwen/libqwen/ggml"
)

// placement is what Options.Device says: for the language models and for the codec the devices to try, in order.
//
//	auto            a discrete GPU that passes the self-test, else the CPU
//	vulkan:0        that device, or an error
//	cuda:0,cpu      the first of them that works; for what does not there is a warning
//	cuda:0/cpu      the language models on the one, the codec on the other
type placement struct{ models, codec []string }

// EnvDevice is the environment variable for the device, where Options.Device does not say.
const EnvDevice = "QWEN_DEVICE"

// device is what is asked for, by the option or else the environment.
func (o *Options) device() string {
	if o.Device != "" {
		return o.Device
	}
	return os.Getenv(EnvDevice)
}

// autoDevice stands for the best device there is.
const autoDevice = "auto"

// readPlacement reads Options.Device.
func readPlacement(device string) (p placement, err error) {
	models, codec, two := strings.Cut(device, "/")
	if p.models, err = readCandidates(models); err != nil {
		return p, err
	}
	p.codec = p.models
	if two {
		p.codec, err = readCandidates(codec)
	}
	return p, err
}

func readCandidates(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		list = autoDevice
	}
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" {
			return nil, fmt.Errorf("%q has an empty name", list)
		}
		names = append(names, name)
	}
	return names, nil
}

// together tells whether models and codec are to run on one device.
func (p placement) together() bool { return strings.Join(p.models, ",") == strings.Join(p.codec, ",") }

func (o *Options) checkDevice() error {
	if _, err := readPlacement(o.device()); err != nil {
		return fail(ErrInvalid, "device: %s", err)
	}
	return nil
}

// chooser opens devices.
type chooser struct {
	log     *slog.Logger
	threads int // of a CPU
}

// open opens the first of the candidates that works.
func (c chooser) open(candidates []string) (*ggml.Backend, error) {
	for i, name := range candidates {
		be, err := c.try(name)
		if err == nil {
			return be, nil
		}
		err = fmt.Errorf("device %q: %w", name, err)
		if i == len(candidates)-1 {
			return nil, as(deviceKind(err), err)
		}
		c.log.Warn(fmt.Sprintf("%v; %s is tried", err, candidates[i+1]))
	}
	panic("core: no candidates")
}

// deviceKind is the kind of a device's error: a name that no device has is the caller's mistake.
func deviceKind(err error) error {
	switch {
	case errors.Is(err, ggml.ErrNoDevice):
		return ErrInvalid
	case errors.Is(err, ggml.ErrMemory):
		return ErrMemory
	}
	return ErrBackend
}

func (c chooser) try(name string) (*ggml.Backend, error) {
	switch name {
	case autoDevice:
		return c.auto()
	case "cpu":
		return ggml.OpenCPU(c.threads)
	}
	ggml.LoadAccelerators()
	d, err := ggml.FindDevice(name)
	if err != nil {
		return nil, err
	}
	return openTested(d, c.threads)
}

// auto opens the first discrete GPU that works, else the CPU.
func (c chooser) auto() (*ggml.Backend, error) {
	if !mayHaveGPU("/dev") {
		return ggml.OpenCPU(c.threads)
	}
	ggml.LoadAccelerators()
	for _, d := range ggml.Devices() {
		if d.Type != ggml.DeviceGPU || d.Software() {
			continue
		}
		be, err := openTested(d, c.threads)
		if err == nil {
			return be, nil
		}
		c.log.Warn(fmt.Sprintf("device %s is not used: %v", d.Name, err))
	}
	return ggml.OpenCPU(c.threads)
}

// openDevices opens the devices of the language models and of the codec, which are the same backend where they take
// turns. On the CPU each gets a share of the threads, so that they work side by side.
func openDevices(device string, threads int, log *slog.Logger) (models, codec *ggml.Backend, err error) {
	p, err := readPlacement(device)
	if err != nil {
		return nil, nil, fail(ErrInvalid, "device: %s", err)
	}
	c := chooser{log, threads}
	if models, err = c.open(p.models); err != nil {
		return nil, nil, err
	}
	if p.together() {
		if models.Type != ggml.DeviceCPU {
			return models, models, nil
		}
		models.Close()
		return openCPUs(threads)
	}
	if codec, err = c.open(p.codec); err != nil {
		models.Close()
		return nil, nil, err
	}
	if models.Type == ggml.DeviceCPU && codec.Type == ggml.DeviceCPU {
		models.Close()
		codec.Close()
		return openCPUs(threads)
	}
	return models, codec, nil
}

// openCPUs divides the threads among the language models and the codec.
func openCPUs(threads int) (models, codec *ggml.Backend, err error) {
	forModels, forCodec := divide(threads)
	if models, err = ggml.OpenCPU(forModels); err != nil || forCodec == 0 {
		return models, models, as(ErrBackend, err)
	}
	if codec, err = ggml.OpenCPU(forCodec); err != nil {
		models.Close()
		return nil, nil, as(ErrBackend, err)
	}
	return models, codec, nil
}
