package audio

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/libqwen/libqwen/internal/dylib"
)

// SndfileEnv is the environment variable that names libsndfile's file.
const SndfileEnv = "QWEN_SNDFILE"

// ErrNoLibrary says that a library of the system is needed and could not be loaded, or is too old. The message names it
// and what to install.
var ErrNoLibrary = errors.New("a library is missing")

// libsndfile loads the library when it is first asked for. It is $QWEN_SNDFILE, or a file beside the program, or
// what the system finds.
var libsndfile = sync.OnceValues(loadSndfile)

func loadSndfile() (*sndfile, error) {
	if strconv.IntSize < 64 {
		return nil, noLibrary("it needs libsndfile, which is not used on systems of 32 bits")
	}
	if file := os.Getenv(SndfileEnv); file != "" {
		lib, err := bindSndfile(file)
		if err != nil {
			return nil, noLibrary("it needs libsndfile, which was not found: %s: %w", SndfileEnv, err)
		}
		return lib, nil
	}
	for _, file := range sndfileFiles() {
		if lib, err := bindSndfile(file); err == nil {
			return lib, nil
		}
	}
	return nil, noLibrary("it needs libsndfile, which was not found: %s, set %s to its file, or use WAV", howToInstall("libsndfile", "sndfile.dll"), SndfileEnv)
}

// sndfileFiles are the names to try. The wheels of Python's soundfile name the library after the processor.
func sndfileFiles() []string {
	switch runtime.GOOS {
	case "windows":
		return besideProgram("sndfile", "sndfile.dll", "libsndfile-1.dll", "libsndfile.dll", "libsndfile_x64.dll", "libsndfile_arm64.dll")
	case "darwin":
		return besideProgram("sndfile", "libsndfile.1.dylib", "libsndfile.dylib", "libsndfile_"+processor()+".dylib",
			"/opt/homebrew/lib/libsndfile.1.dylib", "/usr/local/lib/libsndfile.1.dylib")
	}
	return besideProgram("sndfile", "libsndfile.so.1", "libsndfile.so", "libsndfile_"+processor()+".so")
}

// bindSndfile loads a file and binds its functions.
func bindSndfile(file string) (*sndfile, error) {
	handle, err := dylib.Open(file)
	if err != nil {
		return nil, err
	}
	l := &sndfile{handle: handle}
	for name, fn := range map[string]any{
		"sf_version_string": &l.sf_version_string, "sf_open_virtual": &l.sf_open_virtual, "sf_strerror": &l.sf_strerror,
		"sf_readf_float": &l.sf_readf_float, "sf_writef_float": &l.sf_writef_float, "sf_writef_short": &l.sf_writef_short, "sf_command": &l.sf_command, "sf_error": &l.sf_error, "sf_close": &l.sf_close,
	} {
		addr, err := dylib.Symbol(handle, name)
		if err != nil {
			return nil, fmt.Errorf("%s is no libsndfile: %w", file, err)
		}
		purego.RegisterFunc(fn, addr)
	}
	if v := l.sf_version_string(); !strings.HasPrefix(v, "libsndfile") {
		return nil, fmt.Errorf("%s calls itself %q", file, v)
	}
	l.virtual = l.files.callbacks()
	return l, nil
}
