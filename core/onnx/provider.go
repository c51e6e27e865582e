package onnx

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/libqwen/libqwen/internal/dylib"
)

// EnvProvider is the environment variable for the execution provider, where the option does not say.
const EnvProvider = "QWEN_ONNX_PROVIDER"

var (
	// ErrProvider: an execution provider is not part of the loaded ONNX Runtime, or it fails here.
	ErrProvider = errors.New("execution provider")
	// ErrChoice: there is no execution provider of that name.
	ErrChoice = errors.New("unknown execution provider")
)

// provider is a kind of device that ONNX Runtime computes on, and how sessions are told to use it.
type provider struct {
	name   string // ours
	ort    string // ONNX Runtime's, without "ExecutionProvider"
	append func(l *library, o cOptions) error
}

// providers are all that can be asked for.
var providers = []provider{
	{"cpu", "CPU", func(*library, cOptions) error { return nil }},
	{"cuda", "CUDA", owned(optionFunctions{205, 204, 208})},
	{"tensorrt", "Tensorrt", owned(optionFunctions{171, 170, 174})},
	{"nvrtx", "NvTensorRTRTX", named("NvTensorRtRtx")},
	{"migraphx", "MIGraphX", appendMIGraphX},
	{"directml", "Dml", appendDirectML},
	{"coreml", "CoreML", named("CoreML")},
	{"openvino", "OpenVINO", func(l *library, o cOptions) error { return l.check(l.appendOpenVINO(o, nil, nil, 0)) }},
	{"onednn", "Dnnl", owned(optionFunctions{240, 239, 243})},
	{"cann", "CANN", owned(optionFunctions{221, 220, 224})},
	{"qnn", "QNN", named("QNN")},
	{"xnnpack", "XNNPACK", named("XNNPACK")},
	{"webgpu", "WebGpu", named("WebGPU")},
	{"vitis", "VitisAI", named("VitisAI")},
	{"azure", "Azure", named("AZURE")},
	{"acl", "ACL", exported("ACL")},
	{"armnn", "ArmNN", exported("ArmNN")},
	{"nnapi", "Nnapi", exported("Nnapi")},
	{"rknpu", "Rknpu", exported("Rknpu")},
}

// auto are the providers that "auto" tries, the best first, and the CPU after them. The others compile a model for
// minutes, round it, or are for special machines: who has one asks for it.
var auto = []string{"cuda", "migraphx", "directml", "coreml"}

// ProviderNames are the names that Options.Provider may have.
func ProviderNames() []string {
	names := []string{"auto"}
	for _, p := range providers {
		names = append(names, p.name)
	}
	return names
}

// owned appends a provider by its own functions.
func owned(f optionFunctions) func(*library, cOptions) error {
	return func(l *library, o cOptions) error { return l.appendWith(o, f) }
}

// named appends a provider by the function for all.
func named(name string) func(*library, cOptions) error {
	return func(l *library, o cOptions) error { return l.check(l.appendProvider(o, name, nil, nil, 0)) }
}

// exported appends a provider by a function that the library exports; its second parameter is a flag or a device.
func exported(name string) func(*library, cOptions) error {
	return func(l *library, o cOptions) error {
		addr, err := dylib.Symbol(l.handle, "OrtSessionOptionsAppendExecutionProvider_"+name)
		if err != nil {
			return err
		}
		var add func(o cOptions, flag int32) cStatus
		purego.RegisterFunc(&add, addr)
		return l.check(add(o, 0))
	}
}

// appendDirectML appends DirectML, which allows no planning of memory.
func appendDirectML(l *library, o cOptions) error {
	if err := l.check(l.disableMemPattern(o)); err != nil {
		return err
	}
	return exported("DML")(l, o)
}

// appendMIGraphX appends MIGraphX with OrtMIGraphXProviderOptions of zeros, and all memory allowed.
func appendMIGraphX(l *library, o cOptions) error {
	options := &struct {
		flags         [9]uint64
		limit         uintptr
		arenaStrategy int64
	}{limit: math.MaxUint}
	return l.check(l.appendMIGraphX(o, unsafe.Pointer(options)))
}

// wanted resolves a choice of providers, which is empty, a name, or names with commas between them that are tried in
// that order. "auto", or nothing, are the providers of auto and then the CPU.
func wanted(choice string) (list []provider, isAuto bool, err error) {
	field := "onnx_provider"
	if choice == "" {
		choice, field = os.Getenv(EnvProvider), EnvProvider
	}
	choice = strings.ToLower(strings.TrimSpace(choice))
	names := strings.Split(choice, ",")
	if isAuto = choice == "" || choice == "auto"; isAuto {
		names = append(slices.Clone(auto), "cpu")
	}
	for _, name := range names {
		i := slices.IndexFunc(providers, func(p provider) bool { return p.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, false, fmt.Errorf("%s: %w %q: not one of %s", field, ErrChoice, strings.TrimSpace(name), strings.Join(ProviderNames(), ", "))
		}
		list = append(list, providers[i])
	}
	return list, isAuto, nil
}

// available tells whether the library was built with a provider.
func (l *library) available(p provider) bool {
	return slices.Contains(l.providers, p.ort+"ExecutionProvider")
}

// offered are the names of the providers that the library was built with.
func (l *library) offered() string {
	var names []string
	for _, p := range providers {
		if l.available(p) {
			names = append(names, p.name)
		}
	}
	return strings.Join(names, ", ")
}

// missing is why a provider that was asked for cannot be used.
func (l *library) missing(p provider) error {
	return fmt.Errorf("%w: %s is not part of this ONNX Runtime (%s, %s); available: %s", ErrProvider, p.name, l.version, l.file, l.offered())
}

// openSession makes a session with the first of the wanted providers that works. With "auto", providers that are not
// part of the library are passed over in silence, and others that fail with a warning. The model itself is at fault
// when the CPU, too, refuses it.
func (l *library) openSession(path string, opts Options) (s *session, p provider, warnings []string, err error) {
	list, isAuto, err := wanted(opts.Provider)
	if err != nil {
		return nil, p, nil, err
	}
	var failures []error
	for _, p = range list {
		if !l.available(p) {
			if !isAuto {
				failures = append(failures, l.missing(p))
			}
			continue
		}
		if s, err = l.newSession(path, p, opts.Threads); err == nil {
			for _, f := range failures {
				warnings = append(warnings, f.Error()+"; "+p.name+" is used")
			}
			return s, p, warnings, nil
		}
		failures = append(failures, err)
	}
	if isAuto || len(failures) == 1 {
		return nil, p, nil, failures[len(failures)-1]
	}
	err = failures[0]
	for _, f := range failures[1:] {
		err = fmt.Errorf("%w; %w", err, f)
	}
	return nil, p, nil, err
}
