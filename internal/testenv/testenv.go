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
