//go:build !linux && !darwin

package atomicfile

import (
	"errors"
	"os"
)

// Files are not locked here: what is left stays.

func tryLock(*os.File) (*os.File, error) { return nil, nil }

func removeAbandoned(string) error { return errors.ErrUnsupported }
