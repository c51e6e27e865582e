// Package golden holds the reference data that the numeric tests compare with, and the tiny checkpoints it was made on.
//
// data holds what the official PyTorch classes computed in float32 (README.md says how), models the configurations,
// tokenizers and weight manifests of six tiny random-weight checkpoints. The weights themselves are not stored: they
// come from a portable generator (weights.go) and are checked against models/SHA256SUMS.
package golden

import (
	"fmt"
	"os"
	"path/filepath"
)

// root returns the directory of the module that the working directory belongs to.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("golden: no go.mod at or above the working directory")
		}
		dir = up
	}
}
