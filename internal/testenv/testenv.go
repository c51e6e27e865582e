// Package testenv finds what tests need outside of their own package.
package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/libqwen/libqwen/ggml"
)

// Root is the directory of go.mod.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			tb.Fatal("no go.mod above the test's directory")
		}
		dir = up
	}
}

// GGMLDir is where tests take ggml from: $QWEN_GGML_DIR, else what `make ggml` put into .ggml.
func GGMLDir(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv(ggml.EnvDir); dir != "" {
		return dir
	}
	return filepath.Join(Root(tb), ".ggml")
}

// CPU loads ggml and opens the CPU with the given number of threads until the test ends.
func CPU(tb testing.TB, threads int) *ggml.Backend {
	tb.Helper()
	if err := ggml.Load(GGMLDir(tb)); err != nil {
		tb.Fatalf("%v (`make ggml` obtains the libraries)", err)
	}
	be, err := ggml.OpenCPU(threads)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(be.Close)
	return be
}

// EnvDevice names the device that tests run on instead of the CPU, such as vulkan:0; `make test-vulkan` sets it.
const EnvDevice = "QWEN_TEST_DEVICE"

// OtherDevice tells whether the tests run on another device than the CPU.
func OtherDevice() bool { return os.Getenv(EnvDevice) != "" }

// Device opens the device of $QWEN_TEST_DEVICE until the test ends; without that the test is skipped.
func Device(tb testing.TB) *ggml.Backend {
	tb.Helper()
	if !OtherDevice() {
		tb.Skipf("%s names no device", EnvDevice)
	}
	if err := ggml.Load(GGMLDir(tb)); err != nil {
		tb.Fatal(err)
	}
	ggml.LoadAccelerators()
	d, err := ggml.FindDevice(os.Getenv(EnvDevice))
	if err != nil {
		tb.Fatalf("%s: %v", EnvDevice, err)
	}
	be, err := ggml.Open(d, 1)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(be.Close)
	return be
}

// Backend is Device where one is named, else the CPU with the given number of threads.
func Backend(tb testing.TB, threads int) *ggml.Backend {
	tb.Helper()
	if OtherDevice() {
		return Device(tb)
	}
	return CPU(tb, threads)
}

// ONNXRuntime makes core/onnx find ONNX Runtime until the test ends: $QWEN_ONNXRUNTIME, else what `make onnxruntime` put
// into .onnxruntime. Without either the test is skipped, except where $CI says that nothing may be.
func ONNXRuntime(tb testing.TB) {
	tb.Helper()
	const env = "QWEN_ONNXRUNTIME"
	if os.Getenv(env) != "" {
		return
	}
	dir := filepath.Join(Root(tb), ".onnxruntime")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatalf("%v (`make onnxruntime` obtains the library)", err)
		}
		tb.Skipf("not tested: %v (`make onnxruntime` obtains the library)", err)
	}
	tb.Setenv(env, dir)
}
