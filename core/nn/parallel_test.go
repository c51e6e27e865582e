package nn

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestInParallel(t *testing.T) {
	done := make([]bool, 100)
	assert.NoError(t, inParallel(len(done), func(i int) error { done[i] = true; return nil }))
	assert.NotContains(t, done, false)
	err := inParallel(100, func(i int) error {
		switch {
		case i == 40:
			panic("boo")
		case i > 40:
			return errors.New("later")
		}
		return nil
	})
	assert.EqualError(t, err, "panic: boo")
	assert.Error(t, inParallel(1000, func(int) error { panic("all of them") }))
}
