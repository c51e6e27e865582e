package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestQuantile(t *testing.T) {
	var v []time.Duration
	for i := range 100 {
		v = append(v, time.Duration(i))
	}
	assert.EqualValues(t, 50, quantile(v, .5))
	assert.EqualValues(t, 99, quantile(v, .99))
	assert.EqualValues(t, 99, quantile(v, 1))
	assert.EqualValues(t, 0, quantile(v[:1], .99))
}

func TestTheServersCommandIsMissing(t *testing.T) {
	assert.ErrorContains(t, run(t.Context(), load{}, nil), "missing")
	assert.Error(t, run(t.Context(), load{}, []string{"/nothing/there"}))
	assert.ErrorContains(t, run(t.Context(), load{}, []string{"true"}), "ended")
}
