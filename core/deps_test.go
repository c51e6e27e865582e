package core_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/testenv"
)

const module = "github.com/libqwen/libqwen/"

// lattice says which packages of the project each may import; see docs/ARCHITECTURE.md. A new edge is a decision.
var lattice = map[string]string{
	"capi":             "core core/audio core/voicefile",
	"cmd/qwen-codec":   "core core/audio core/voicefile internal/atomicfile internal/cli",
	"cmd/qwen-convert": "convert core core/checkpoint internal/cli",
	"cmd/qwen-pull":    "hub internal/cli",
	"cmd/qwen-tts":     "core core/audio core/sample core/text core/voicefile hub internal/atomicfile internal/cli",
	"bench/serverload": "",
	"cmd/tts-server":   "core hub internal/cli server",
	"convert":          "core/checkpoint ggml ggml/gguf internal/half",

	"cmd/qwen-quantize": "convert core ggml/gguf internal/cli",
	"cmd/qwen-info":     "core core/voicefile internal/cli",

	"core":           "core/bpe core/checkpoint core/codec core/lm core/model core/nn core/onnx core/prompt core/sample core/speaker core/text ggml ggml/gguf ggml/kernels internal/atomicfile internal/npy",
	"core/model":     "core/bpe core/checkpoint core/prompt core/sample ggml/gguf",
	"core/lm":        "core/nn core/prompt core/sample ggml ggml/gguf",
	"core/codec":     "core/nn ggml ggml/gguf ggml/kernels",
	"core/nn":        "ggml ggml/gguf ggml/kernels internal/half",
	"core/prompt":    "core/bpe",
	"core/bpe":       "",
	"core/sample":    "",
	"core/audio":     "internal/dylib",
	"core/text":      "",
	"core/voicefile": "internal/atomicfile",
	"core/speaker":   "core/audio core/nn ggml ggml/gguf",
	"core/onnx":      "core/codec internal/dylib",

	"ggml":          "ggml/gguf internal/dylib internal/half",
	"ggml/kernels":  "ggml ggml/gguf internal/half",
	"ggml/gguf":     "internal/atomicfile internal/half internal/mmap",
	"internal/half": "",
	"internal/npy":  "",

	"core/checkpoint": "ggml/gguf internal/half internal/mmap",
	"internal/mmap":   "",

	"server":         "core core/audio core/prompt core/voicefile internal/atomicfile",
	"internal/dylib": "",

	"internal/atomicfile": "",
	"hub":                 "internal/atomicfile",
	"internal/hubtest":    "",
	"internal/cli":        "core core/audio core/checkpoint hub",

	"examples/go/clone":            "core examples/go/internal/example",
	"examples/go/design":           "core examples/go/internal/example",
	"examples/go/hello":            "core examples/go/internal/example",
	"examples/go/stream":           "core core/audio examples/go/internal/example",
	"examples/go/internal/example": "core core/audio",

	"internal/manual":     "",
	"internal/testenv":    "ggml",
	"tests/golden":        "convert ggml/gguf internal/npy",
	"tests/parity":        "",
	"tests/golden/mktiny": "tests/golden",
}

// TestImportsFollowTheLattice fails on an import that the lattice does not have, and on a package it does not know.
func TestImportsFollowTheLattice(t *testing.T) {
	cmd := exec.Command("go", "list", "-e", "-f", `{{.ImportPath}}: {{join .Imports " "}}`, "./...")
	cmd.Dir = testenv.Root(t)
	out, err := cmd.Output()
	require.NoError(t, err)
	seen := 0
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), ": ")
		pkg = strings.TrimPrefix(strings.TrimSuffix(pkg, ":"), module)
		allowed, known := lattice[pkg]
		if !assert.True(t, known, "%s is not in the lattice", pkg) {
			continue
		}
		seen++
		for _, i := range strings.Fields(imports) {
			if own, ok := strings.CutPrefix(i, module); ok {
				assert.Contains(t, strings.Fields(allowed), own, "%s must not import %s", pkg, own)
			}
		}
	}
	assert.Equal(t, len(lattice), seen, "packages of the lattice that are gone")
	assert.False(t, slices.Contains(strings.Fields(lattice["ggml/gguf"]), "ggml"), "the container knows nothing of the binding")
}
