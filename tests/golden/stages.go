package golden

import (
	_ "embed"
	"fmt"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed stages.txt
var stagesText string

// Stage is one row of stages.txt: every array whose name fits Pattern must reach Threshold in Metric.
type Stage struct {
	Pattern   string
	Metric    string // maxabs, cosine or snr
	Threshold float64
}

// Stages returns the rows of stages.txt.
func Stages(tb testing.TB) []Stage {
	tb.Helper()
	rows, err := parseStages(stagesText)
	require.NoError(tb, err)
	return rows
}

func parseStages(text string) ([]Stage, error) {
	var rows []Stage
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 {
			return nil, fmt.Errorf("stages.txt:%d: want stage, metric, threshold", i+1)
		}
		v, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return nil, fmt.Errorf("stages.txt:%d: %w", i+1, err)
		}
		row := Stage{f[0], f[1], v}
		if _, err := path.Match(row.Pattern, ""); err != nil {
			return nil, fmt.Errorf("stages.txt:%d: pattern %q: %w", i+1, row.Pattern, err)
		}
		if _, _, err := row.measure(nil, nil); err != nil {
			return nil, fmt.Errorf("stages.txt:%d: %w", i+1, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// measure returns the metric, and whether it is good enough; a NaN never is.
func (s Stage) measure(got, want []float32) (value float64, ok bool, err error) {
	switch s.Metric {
	case "maxabs":
		value = MaxAbs(got, want)
		return value, value <= s.Threshold, nil
	case "cosine":
		value = Cosine(got, want)
	case "snr":
		value = SNR(got, want)
	default:
		return 0, false, fmt.Errorf("unknown metric %q", s.Metric)
	}
	return value, value >= s.Threshold, nil
}

// Check compares an array with its golden one by the rows of stages.txt that fit the stage's name, logs the figures
// and fails the test (it goes on) if one misses its threshold, if the lengths differ or if no row fits.
func Check(tb testing.TB, stage string, got, want []float32) {
	tb.Helper()
	if len(got) != len(want) || len(want) == 0 {
		tb.Errorf("%s: %d values, want %d (and some)", stage, len(got), len(want))
		return
	}
	known := false
	for _, row := range Stages(tb) {
		if fits, _ := path.Match(row.Pattern, stage); !fits {
			continue
		}
		known = true
		value, ok, err := row.measure(got, want)
		require.NoError(tb, err)
		if !ok {
			tb.Errorf("%s: %s %.9g misses %g (max abs error %.3g)", stage, row.Metric, value, row.Threshold, MaxAbs(got, want))
			continue
		}
		tb.Logf("%-24s %s %.9g (threshold %g)", stage, row.Metric, value, row.Threshold)
	}
	if !known {
		tb.Errorf("%s: no row of stages.txt fits", stage)
	}
}
