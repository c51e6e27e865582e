package core

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/testenv"
)

func TestSpareMemory(t *testing.T) {
	be := testenv.CPU(t, 1)
	for value, want := range map[string]bool{"": true, "0": true, "false": true, "1": false, "true": false} {
		t.Setenv(EnvShareWeights, value)
		n, err := spare(be)
		require.NoError(t, err)
		assert.Equal(t, want, n > 0, value)
	}
	t.Setenv(EnvShareWeights, "maybe")
	_, err := spare(be)
	assert.ErrorIs(t, err, ErrInvalid)
	assert.ErrorContains(t, err, EnvShareWeights)
}
