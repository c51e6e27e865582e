package audio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
)

// SndfileEnv is the environment variable that names libsndfile's file.
const SndfileEnv = "QWEN_SNDFILE"

// ErrNoLibrary says that libsndfile is needed and could not be loaded.
var ErrNoLibrary = errors.New("it needs libsndfile, which was not found")

// libsndfile loads the library when it is first asked for. It is $QWEN_SNDFILE, or a file beside the program, or
// what the system finds.
var libsndfile = sync.OnceValues(loadSndfile)

func loadSndfile() (*sndfile, error) {
	if strconv.IntSize < 64 {
		return nil, fmt.Errorf("%w: on systems of 32 bits it is not used", ErrNoLibrary)
	}
	if file := os.Getenv(SndfileEnv); file != "" {
		lib, err := bindSndfile(file)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrNoLibrary, SndfileEnv, err)
		}
		return lib, nil
	}
	for _, file := range sndfileFiles() {
		if lib, err := bindSndfile(file); err == nil {
			return lib, nil
		}
	}
	return nil, fmt.Errorf("%w: %s, set %s to its file, or convert the audio to WAV", ErrNoLibrary, howToInstall(), SndfileEnv)
}

// sndfileFiles are the names to try, the ones beside the program first. The wheels of Python's soundfile name the
// library after the processor.
func sndfileFiles() []string {
	names := map[string][]string{
		"windows": {"sndfile.dll", "libsndfile-1.dll", "libsndfile.dll", "libsndfile_x64.dll", "libsndfile_arm64.dll"},
		"darwin": {"libsndfile.1.dylib", "libsndfile.dylib", "libsndfile_" + processor() + ".dylib",
			"/opt/homebrew/lib/libsndfile.1.dylib", "/usr/local/lib/libsndfile.1.dylib"},
	}[runtime.GOOS]
	if names == nil {
		names = []string{"libsndfile.so.1", "libsndfile.so", "libsndfile_" + processor() + ".so"}
	}
	var files []string
	if exe, err := os.Executable(); err == nil {
		for _, n := range names {
			if file := filepath.Join(filepath.Dir(exe), filepath.Base(n)); isFile(file) {
				files = append(files, file)
			}
		}
	}
	return append(files, names...)
}

func processor() string {
	if runtime.GOARCH == "amd64" {
		return "x86_64"
	}
	return runtime.GOARCH
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func howToInstall() string {
	switch runtime.GOOS {
	case "darwin":
		return "`brew install libsndfile`"
	case "windows":
		return "put sndfile.dll of libsndfile's release beside the program"
	}
	return "install the package libsndfile1 (Debian, Ubuntu) or libsndfile (Fedora, Arch, Alpine)"
}

// bindSndfile loads a file and binds its functions.
func bindSndfile(file string) (*sndfile, error) {
	handle, err := dlopen(file)
	if err != nil {
		return nil, err
	}
	l := &sndfile{handle: handle}
	for name, fn := range map[string]any{
		"sf_version_string": &l.sf_version_string, "sf_open_virtual": &l.sf_open_virtual, "sf_strerror": &l.sf_strerror,
		"sf_readf_float": &l.sf_readf_float, "sf_command": &l.sf_command, "sf_error": &l.sf_error, "sf_close": &l.sf_close,
	} {
		addr, err := dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("%s is no libsndfile: %w", file, err)
		}
		purego.RegisterFunc(fn, addr)
	}
	if v := l.sf_version_string(); !strings.HasPrefix(v, "libsndfile") {
		return nil, fmt.Errorf("%s calls itself %q", file, v)
	}
	l.virtual = newVirtualIO()
	return l, nil
}
