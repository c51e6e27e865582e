package audio

import (
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/libqwen/libqwen/internal/dylib"
)

// noLibrary returns an error of that text that wraps ErrNoLibrary.
func noLibrary(format string, args ...any) error {
	return libraryError{fmt.Errorf(format, args...)}
}

type libraryError struct{ err error }

func (e libraryError) Error() string   { return e.err.Error() }
func (e libraryError) Unwrap() []error { return []error{ErrNoLibrary, e.err} }

// besideProgram returns the names of a library's files, first those near the program, or near libqwen.so inside another
// one: see dylib.Beside.
func besideProgram(library string, names ...string) []string {
	var files []string
	for _, dir := range dylib.Beside(library) {
		for _, n := range names {
			if file := filepath.Join(dir, filepath.Base(n)); dylib.IsFile(file) {
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

// howToInstall tells how to get a library, given its name and that of its DLL.
func howToInstall(library, dll string) string {
	switch runtime.GOOS {
	case "darwin":
		return "`brew install " + library + "`"
	case "windows":
		return "put " + dll + " beside the program"
	}
	debian := map[string]string{"libsndfile": "libsndfile1", "libsonic": "libsonic0"}[library]
	others := map[string]string{"libsndfile": "libsndfile", "libsonic": "sonic"}[library]
	return fmt.Sprintf("install the package %s (Debian, Ubuntu) or %s (Fedora, Arch, Alpine)", debian, others)
}
