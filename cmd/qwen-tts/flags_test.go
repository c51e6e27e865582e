package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/sample"
)

// sampling returns what the flags make of a model's defaults.
func sampling(t *testing.T, args ...string) (talker, predictor sample.Params) {
	t.Helper()
	talker = sample.Params{DoSample: true, Temperature: 1, TopK: 2, TopP: 3, RepetitionPenalty: 4}
	predictor = sample.Params{DoSample: true, Temperature: 5, TopK: 6, TopP: 7, RepetitionPenalty: 8}
	cmd := newCommand(func(cmd *cobra.Command, o *options) error {
		o.applySampling(&talker, &predictor, cmd.Flags().Changed)
		return nil
	})
	cmd.SetArgs(append([]string{}, args...))
	require.NoError(t, cmd.Execute())
	return talker, predictor
}

func TestSamplingFlagsOverrideOnlyWhatTheyName(t *testing.T) {
	t0, p0 := sampling(t)
	assert.Equal(t, sample.Params{DoSample: true, Temperature: 1, TopK: 2, TopP: 3, RepetitionPenalty: 4}, t0)
	assert.Equal(t, sample.Params{DoSample: true, Temperature: 5, TopK: 6, TopP: 7, RepetitionPenalty: 8}, p0)

	for flag, set := range map[string]func(t, p *sample.Params){
		"temp":      func(t, _ *sample.Params) { t.Temperature = 9 },
		"top-k":     func(t, _ *sample.Params) { t.TopK = 9 },
		"top-p":     func(t, _ *sample.Params) { t.TopP = 9 },
		"rep-pen":   func(t, _ *sample.Params) { t.RepetitionPenalty = 9 },
		"sub-temp":  func(_, p *sample.Params) { p.Temperature = 9 },
		"sub-top-k": func(_, p *sample.Params) { p.TopK = 9 },
		"sub-top-p": func(_, p *sample.Params) { p.TopP = 9 },
	} {
		wantT, wantP := t0, p0
		set(&wantT, &wantP)
		gotT, gotP := sampling(t, "--"+flag, "9")
		assert.Equal(t, wantT, gotT, flag)
		assert.Equal(t, wantP, gotP, flag)
	}
	gotT, gotP := sampling(t, "--greedy")
	assert.True(t, gotT.Greedy())
	assert.True(t, gotP.Greedy())
}

func TestParseLayout(t *testing.T) {
	for name, want := range map[string]core.Layout{"auto": core.LayoutAuto, "whole": core.LayoutWhole, "streamed": core.LayoutStreamed} {
		got, err := parseLayout(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := parseLayout("")
	assert.Error(t, err)
}
