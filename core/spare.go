package core

import (
	"os"
	"strconv"

	"github.com/libqwen/libqwen/ggml"
)

// EnvShareWeights is the environment variable that keeps weights where they are mapped from the file, in memory that
// processes share.
const EnvShareWeights = "QWEN_SHARE_WEIGHTS"

// spareShare of the memory that is available may be used for copies of weights that are only made to be read faster.
const spareShare = 4

// spare is how many bytes such copies may take.
func spare(be *ggml.Backend) (uint64, error) {
	if s := os.Getenv(EnvShareWeights); s != "" {
		share, err := strconv.ParseBool(s)
		if err != nil {
			return 0, fail(ErrInvalid, "%s: %q is neither 1 nor 0", EnvShareWeights, s)
		}
		if share {
			return 0, nil
		}
	}
	return available(be) / spareShare, nil
}
