package onnx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/libqwen/libqwen/internal/dylib"
)

// EnvLibrary is the environment variable that names ONNX Runtime's library, or the folder that holds it.
const EnvLibrary = "QWEN_ONNXRUNTIME"

// MinVersion of ONNX Runtime. Later ones of the same major version only add functions.
const MinVersion = "1.17"

// ErrLibrary: ONNX Runtime could not be loaded.
var ErrLibrary = errors.New("ONNX Runtime was not found")

// library is ONNX Runtime, loaded once a process and never unloaded.
type library struct {
	api
	handle    uintptr
	file      string
	version   string
	env       cEnv
	memory    cMemory // of the host
	allocator cAllocator
	providers []string // that it was built with, by ONNX Runtime's names
}

var loaded struct {
	sync.Mutex
	lib *library
}

// load finds ONNX Runtime, unless it is there: $QWEN_ONNXRUNTIME, else near the program or library that holds this code,
// else where the system looks. A failure is not remembered: it may be installed meanwhile.
func load() (*library, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.lib == nil {
		lib, err := find()
		if err != nil {
			return nil, err
		}
		loaded.lib = lib
	}
	return loaded.lib, nil
}

func find() (*library, error) {
	if strconv.IntSize < 64 {
		return nil, fmt.Errorf("%w: on systems of 32 bits it is not used", ErrLibrary)
	}
	if path := os.Getenv(EnvLibrary); path != "" {
		return open(path)
	}
	dirs := dylib.Beside("onnxruntime")
	for _, dir := range dirs {
		if file := newest(dir); file != "" {
			return openFile(file)
		}
	}
	var problem error
	for _, name := range systemNames() {
		lib, err := openFile(name)
		if err == nil {
			return lib, nil
		}
		if !errors.Is(err, errDlopen) {
			problem = err // there is one, which will not do
		}
	}
	if problem != nil {
		return nil, problem
	}
	return nil, fmt.Errorf("%w (looked in %s and the system's library path): %s, or set %s to the library or its folder, such as onnxruntime/capi of Python's package onnxruntime",
		ErrLibrary, strings.Join(dirs, ", "), howToInstall(), EnvLibrary)
}

// open opens what the environment variable names.
func open(path string) (*library, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLibrary, EnvLibrary, err)
	}
	if st.IsDir() {
		file := newest(path)
		if file == "" {
			return nil, fmt.Errorf("%w: %s: no %s in %s", ErrLibrary, EnvLibrary, systemNames()[0], path)
		}
		path = file
	}
	lib, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvLibrary, err)
	}
	return lib, nil
}

// newest is the library's file in a folder: libonnxruntime.so, or with a version behind or within its name; "" if
// there is none.
func newest(dir string) string {
	pattern := map[string]string{"windows": "onnxruntime.dll", "darwin": "libonnxruntime*.dylib"}[runtime.GOOS]
	if pattern == "" {
		pattern = "libonnxruntime.so*"
	}
	found, _ := filepath.Glob(filepath.Join(dir, pattern))
	found = slices.DeleteFunc(found, func(f string) bool {
		return !dylib.IsFile(f) || strings.Contains(filepath.Base(f), "_providers_")
	})
	if len(found) == 0 {
		return ""
	}
	file, err := filepath.Abs(slices.Max(found))
	if err != nil {
		return found[0]
	}
	return file
}

func systemNames() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"onnxruntime.dll"}
	case "darwin":
		return []string{"libonnxruntime.dylib", "/opt/homebrew/lib/libonnxruntime.dylib", "/usr/local/lib/libonnxruntime.dylib"}
	}
	return []string{"libonnxruntime.so.1", "libonnxruntime.so"}
}

func howToInstall() string {
	switch runtime.GOOS {
	case "darwin":
		return "`brew install onnxruntime`"
	case "windows":
		return "put onnxruntime.dll of ONNX Runtime's release beside the program"
	}
	return "install ONNX Runtime (Debian, Ubuntu: the package libonnxruntime with its version behind)"
}

var errDlopen = errors.New("cannot be opened")

// openFile loads a file and makes the environment that all sessions share.
func openFile(file string) (*library, error) {
	if filepath.IsAbs(file) || strings.ContainsRune(file, filepath.Separator) {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %w: %w", ErrLibrary, errDlopen, err)
		}
	}
	handle, err := dylib.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %w: %w", ErrLibrary, file, errDlopen, err)
	}
	l := &library{handle: handle, file: file}
	if err := l.bindTable(); err != nil {
		dylib.Close(handle)
		return nil, err
	}
	if err := l.start(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLibrary, file, err)
	}
	return l, nil
}

// bindTable gets the table of functions, after a look at the version: asked for one that it lacks, the library would
// write to standard error.
func (l *library) bindTable() error {
	addr, err := dylib.Symbol(l.handle, "OrtGetApiBase")
	if err != nil {
		return fmt.Errorf("%w: %s is no ONNX Runtime: %w", ErrLibrary, l.file, err)
	}
	var getBase func() *[2]uintptr
	purego.RegisterFunc(&getBase, addr)
	functions := getBase()
	var b base
	purego.RegisterFunc(&b.getAPI, functions[0])
	purego.RegisterFunc(&b.getVersion, functions[1])
	l.version = b.getVersion()
	if !supported(l.version) {
		return fmt.Errorf("%w: %s is version %s, and %s or later of 1.x is needed", ErrLibrary, l.file, l.version, MinVersion)
	}
	table := b.getAPI(apiVersion)
	if table == nil {
		return fmt.Errorf("%w: %s, version %s, has no functions of version %s", ErrLibrary, l.file, l.version, MinVersion)
	}
	l.bind(table)
	return nil
}

// supported tells whether a version is of the same major version as MinVersion and not before it.
func supported(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	least, _ := strconv.Atoi(strings.TrimPrefix(MinVersion, "1."))
	return err == nil && major == "1" && n >= least
}

func (l *library) start() error {
	if err := l.check(l.createEnv(newLog(), 0, logError, "qwen", &l.env)); err != nil {
		return err
	}
	const arena, normal = 1, 0
	if err := l.check(l.createMemory(arena, normal, &l.memory)); err != nil {
		return err
	}
	if err := l.check(l.defaultAllocator(&l.allocator)); err != nil {
		return err
	}
	return l.readProviders()
}

func (l *library) readProviders() error {
	var list *unsafe.Pointer
	var n int32
	if err := l.check(l.getProviders(&list, &n)); err != nil {
		return err
	}
	for _, name := range unsafe.Slice(list, n) {
		l.providers = append(l.providers, cString(name))
	}
	return l.check(l.releaseProviders(list, n))
}

// take copies and frees a string that ONNX Runtime has allocated; NULL is "".
func (l *library) take(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	s := cString(p)
	_ = l.check(l.allocatorFree(l.allocator, p)) // never fails
	return s
}

func cString(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// oneLine makes one line of a message of ONNX Runtime's, without the place in its source and the code that some have
// before them: "… [ONNXRuntimeError] : 1 : FAIL : message".
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if _, coded, ok := strings.Cut(s, "[ONNXRuntimeError] : "); ok {
		if parts := strings.SplitN(coded, " : ", 3); len(parts) == 3 {
			s = parts[2]
		}
	}
	const most = 500
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " …"
	}
	return strings.TrimSuffix(s, ".")
}

func outOfMemory(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"bad_alloc", "bad allocation", "failed to allocate", "out of memory"}, func(s string) bool { return strings.Contains(text, s) })
}
