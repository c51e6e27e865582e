package gguf

import "errors"

// Or makes a getter's result optional: a missing key gives the default, any other failure stays a failure.
//
//	eps, err := gguf.Or(float32(1e-6))(f.Float32("qwen3-tts.talker.attention.layer_norm_rms_epsilon"))
func Or[T any](def T) func(v T, err error) (T, error) {
	return func(v T, err error) (T, error) {
		if errors.Is(err, ErrMissing) {
			return def, nil
		}
		return v, err
	}
}
