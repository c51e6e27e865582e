package speaker

import (
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Check tells all that Load would refuse in a file, and what it would take. With values it also reads all weights for
// wrong ones. It loads nothing. An error is ErrAbsent if there is no encoder in the file.
func Check(f *gguf.File, values bool) (nn.Footprint, error) {
	cfg, err := ReadConfig(f)
	if err != nil {
		return nn.Footprint{}, err
	}
	l := nn.NewChecker(f)
	l.Ignore("talker.")
	l.Ignore("code_pred.")
	if err := (&network{}).load(l, &cfg); err != nil {
		return nn.Footprint{}, err
	}
	return l.Footprint(), gguf.AllOf(l.Problems(values))
}
