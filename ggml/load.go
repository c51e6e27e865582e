package ggml

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/libqwen/libqwen/internal/dylib"
)

// The versions of ggml that this binding is tested with: MinVersion <= version < EndVersion.
const (
	MinVersion = "0.20.0"
	EndVersion = "0.27.0"
)

// EnvDir is the environment variable that names the directory of ggml's libraries.
const EnvDir = "QWEN_GGML_DIR"

var (
	fn    api                    // the ggml function table, filled once by Load
	init_ func(uintptr) cContext // ggml_init

	loaded struct {
		sync.Mutex
		ready             bool
		dir, version, cpu string // cpu: file of the CPU backend, "" if it is built in
		accelerators      bool
	}
)

// Load finds and binds ggml's shared libraries. Once it has succeeded, later calls do nothing: a process has one ggml.
//
// It looks in dir, or if that is empty in $QWEN_GGML_DIR; without either, beside the program or library that
// contains this code (the same directory, its ggml, lib and .ggml subdirectories, .ggml in up to two directories
// above, and lib/libqwen of an installation), then where the system finds libraries.
func Load(dir string) error {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.ready {
		return nil
	}
	err := load(dir)
	loaded.ready = err == nil
	return err
}

// Version of the loaded ggml.
func Version() string { return loaded.version }

// Dir is where ggml was loaded from; "" is the system's search path.
func Dir() string { return loaded.dir }

// CPUVariant is the file of the CPU backend chosen for this machine; "" if it is built into ggml.
func CPUVariant() string {
	if loaded.cpu == "" {
		return ""
	}
	return filepath.Base(loaded.cpu)
}

func load(dir string) error {
	_ = os.Setenv("GGML_NO_BACKTRACE", "1") // a failing assertion would start a debugger
	base, reg, dir, err := openLibraries(dir)
	if err != nil {
		return err
	}
	if err := bind(fn.symbols(), base, reg); err != nil {
		return fmt.Errorf("%w (in %s; versions %s up to but not including %s are supported)", err, orSystem(dir), MinVersion, EndVersion)
	}
	init_ = initFunc(fn.ggml_init)
	loaded.dir, loaded.version = dir, fn.ggml_version()
	if err := checkVersion(loaded.version); err != nil {
		return fmt.Errorf("%w (in %s)", err, orSystem(dir))
	}
	installLog()
	installAbort()
	return loadCPU(dir, base)
}

// openLibraries opens libggml-base and libggml from the first place that has them.
func openLibraries(dir string) (base, reg uintptr, from string, err error) {
	if dir == "" {
		dir = os.Getenv(EnvDir)
	}
	if dir != "" {
		base, reg, err = openIn(dir)
		if err != nil {
			err = fmt.Errorf("ggml: no usable libraries in %s: %w", dir, err)
		}
		return base, reg, dir, err
	}
	for _, d := range besideModule() {
		if base, reg, err = openIn(d); err == nil {
			return base, reg, d, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return 0, 0, d, fmt.Errorf("ggml: libraries in %s: %w", d, err)
		}
	}
	if base, reg, err = openSystem(); err == nil {
		return base, reg, "", nil
	}
	return 0, 0, "", fmt.Errorf("ggml: shared libraries not found: run `make ggml`, which puts them into .ggml, or set %s to the directory of your own build (looked in %s and the system's library path)",
		EnvDir, strings.Join(besideModule(), ", "))
}

// besideModule lists the directories searched around the program or library that holds this code.
func besideModule() []string {
	path := dylib.Module()
	if path == "" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	d := filepath.Dir(path)
	dirs := []string{d}
	for _, rel := range []string{
		"ggml", "lib", ".ggml", "../.ggml", "../../.ggml",
		"libqwen", "../libqwen", "../lib/libqwen", // PREFIX/lib/libqwen, seen from PREFIX/lib, PREFIX/lib/TRIPLET, PREFIX/bin
	} {
		dirs = append(dirs, filepath.Join(d, filepath.FromSlash(rel)))
	}
	return dirs
}

func openIn(dir string) (base, reg uintptr, err error) {
	open := func(stem string) (uintptr, error) {
		file, err := findLibrary(dir, stem)
		if err != nil {
			return 0, err
		}
		return dlopen(file)
	}
	if base, err = open("ggml-base"); err != nil {
		return 0, 0, err
	}
	reg, err = open("ggml")
	return base, reg, err
}

func openSystem() (base, reg uintptr, err error) {
	open := func(stem string) (h uintptr, err error) {
		for _, name := range systemNames(stem) {
			if h, err = dlopen(name); err == nil {
				return h, nil
			}
		}
		return 0, err
	}
	if base, err = open("ggml-base"); err != nil {
		return 0, 0, err
	}
	reg, err = open("ggml")
	return base, reg, err
}

func systemNames(stem string) []string {
	switch runtime.GOOS {
	case "windows":
		return []string{stem + ".dll", "lib" + stem + ".dll"}
	case "darwin":
		return []string{"lib" + stem + ".dylib", "lib" + stem + ".0.dylib"}
	}
	return []string{"lib" + stem + ".so", "lib" + stem + ".so.0"}
}

// findLibrary finds the file of a library in dir whatever its version suffix: libggml.so, libggml.so.0, libggml.so.0.26.0.
func findLibrary(dir, stem string) (string, error) {
	names := systemNames(stem)
	for _, n := range names {
		if p := filepath.Join(dir, n); isFile(p) {
			return filepath.Abs(p)
		}
	}
	found, _ := filepath.Glob(filepath.Join(dir, names[0]+".*"))
	sort.Strings(found)
	for _, p := range found {
		if isFile(p) {
			return filepath.Abs(p)
		}
	}
	return "", fmt.Errorf("%s: %w", filepath.Join(dir, names[0]), fs.ErrNotExist)
}

func isFile(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.Mode().IsRegular()
}

func orSystem(dir string) string {
	if dir == "" {
		return "the system's library path"
	}
	return dir
}

func checkVersion(v string) error {
	if compareVersions(v, MinVersion) < 0 || compareVersions(v, EndVersion) >= 0 {
		return fmt.Errorf("ggml: version %s is outside the supported range, %s up to but not including %s: run `make ggml` for a tested one, or set %s to another build", v, MinVersion, EndVersion, EnvDir)
	}
	return nil
}

func compareVersions(a, b string) int {
	pa, pb := strings.Split(a, "."), strings.Split(b, ".")
	for i := range 3 {
		if d := versionPart(pa, i) - versionPart(pb, i); d != 0 {
			return d
		}
	}
	return 0
}

func versionPart(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	digits := strings.TrimFunc(parts[i], func(r rune) bool { return r < '0' || r > '9' })
	n, _ := strconv.Atoi(digits)
	return n
}

// loadCPU registers the CPU backend: the one built in, or of the variants in dir the one that scores best here.
func loadCPU(dir string, base uintptr) error {
	if _, err := CPUDevice(); err == nil {
		return nil
	}
	best, err := bestCPUVariant(dir)
	if err != nil {
		return err
	}
	if reg := fn.ggml_backend_load(best); reg == nil {
		return fmt.Errorf("ggml: the CPU backend %s could not be loaded", best)
	}
	loaded.cpu = best
	return checkSameBase(best, base)
}

// bestCPUVariant asks each libggml-cpu-*.so how well it suits this processor (0 = not at all).
func bestCPUVariant(dir string) (string, error) {
	files := backendFiles(dir, "ggml-cpu*")
	if len(files) == 0 {
		return "", fmt.Errorf("ggml: no CPU backend (%s) in %s", systemNames("ggml-cpu*")[0], orSystem(dir))
	}
	best, bestScore := "", -1
	for _, f := range files {
		if s := cpuScore(f); s > bestScore {
			best, bestScore = f, s
		}
	}
	if bestScore <= 0 && len(files) > 1 {
		return "", fmt.Errorf("ggml: none of the %d CPU backends in %s runs on this processor", len(files), dir)
	}
	return best, nil
}

// backendFiles lists the files of one or more backends in dir, by pattern of the library's stem.
func backendFiles(dir, pattern string) []string {
	var files []string
	for _, name := range systemNames(pattern) {
		found, _ := filepath.Glob(filepath.Join(dir, name))
		files = append(files, found...)
	}
	sort.Strings(files)
	return files
}

func cpuScore(file string) int {
	lib, err := dlopenLocal(file)
	if err != nil {
		return -1
	}
	defer dlclose(lib)
	addr, err := dlsym(lib, "ggml_backend_score")
	if err != nil || addr == 0 {
		return 0
	}
	var score func() int32
	purego.RegisterFunc(&score, addr)
	return int(score())
}

// checkSameBase refuses a CPU backend that the dynamic linker has bound to another copy of libggml-base,
// which happens when the process had one loaded already.
func checkSameBase(file string, base uintptr) error {
	if runtime.GOOS == "windows" {
		return nil // libraries see only what their own directory holds
	}
	lib, err := dlopen(file)
	if err != nil {
		return fmt.Errorf("ggml: %s: %w", file, err)
	}
	mine, err1 := dlsym(base, "ggml_version")
	theirs, err2 := dlsym(lib, "ggml_version")
	if err1 == nil && err2 == nil && mine != theirs {
		return fmt.Errorf("ggml: this process already holds another copy of ggml: %s is bound to that one and cannot be mixed with %s", file, orSystem(loaded.dir))
	}
	return nil
}

// LoadAccelerators loads every other backend beside ggml (CUDA, Vulkan, Metal, BLAS …). Ones that fail are left out.
func LoadAccelerators() {
	loaded.Lock()
	defer loaded.Unlock()
	if !loaded.ready || loaded.accelerators {
		return
	}
	loaded.accelerators = true
	for _, f := range backendFiles(loaded.dir, "ggml-*") {
		if name := filepath.Base(f); !strings.Contains(name, "ggml-base") && !strings.Contains(name, "ggml-cpu") {
			fn.ggml_backend_load(f)
		}
	}
}
