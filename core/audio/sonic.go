package audio

import (
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/libqwen/libqwen/internal/dylib"
)

// SonicEnv is the environment variable that names libsonic's file.
const SonicEnv = "QWEN_SONIC"

// sonic is libsonic, loaded at run time. C types: a sonicStream is a uintptr; int is int32. Its samples are floats in
// [-1, 1], which it keeps in 16 bits.
type sonic struct {
	sonicCreateStream        func(rate, channels int32) uintptr
	sonicDestroyStream       func(stream uintptr)
	sonicSetSpeed            func(stream uintptr, speed float32)
	sonicWriteFloatToStream  func(stream uintptr, src *float32, n int32) int32
	sonicReadFloatFromStream func(stream uintptr, dst *float32, most int32) int32
	sonicFlushStream         func(stream uintptr) int32
}

// libsonic loads the library when it is first asked for. It is $QWEN_SONIC, or a file beside the program, or what the
// system finds.
var libsonic = sync.OnceValues(loadSonic)

func loadSonic() (*sonic, error) {
	if file := os.Getenv(SonicEnv); file != "" {
		lib, err := bindSonic(file)
		if err != nil {
			return nil, noLibrary("it needs libsonic, which was not found: %s: %w", SonicEnv, err)
		}
		return lib, nil
	}
	names := map[string][]string{
		"windows": {"sonic.dll", "libsonic.dll"},
		"darwin":  {"libsonic.dylib", "/opt/homebrew/lib/libsonic.dylib", "/usr/local/lib/libsonic.dylib"},
	}[runtime.GOOS]
	if names == nil {
		names = []string{"libsonic.so.0", "libsonic.so"}
	}
	for _, file := range besideProgram("sonic", names...) {
		if lib, err := bindSonic(file); err == nil {
			return lib, nil
		}
	}
	return nil, noLibrary("it needs libsonic, which was not found: %s, or set %s to its file", howToInstall("libsonic", "sonic.dll"), SonicEnv)
}

// bindSonic loads a file and binds its functions.
func bindSonic(file string) (*sonic, error) {
	handle, err := dylib.Open(file)
	if err != nil {
		return nil, err
	}
	l := &sonic{}
	for name, fn := range map[string]any{
		"sonicCreateStream": &l.sonicCreateStream, "sonicDestroyStream": &l.sonicDestroyStream, "sonicSetSpeed": &l.sonicSetSpeed,
		"sonicWriteFloatToStream": &l.sonicWriteFloatToStream, "sonicReadFloatFromStream": &l.sonicReadFloatFromStream,
		"sonicFlushStream": &l.sonicFlushStream,
	} {
		addr, err := dylib.Symbol(handle, name)
		if err != nil {
			return nil, fmt.Errorf("%s is no libsonic: %w", file, err)
		}
		purego.RegisterFunc(fn, addr)
	}
	return l, nil
}
