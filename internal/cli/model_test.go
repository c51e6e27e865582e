package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/hubtest"
)

// parseModel returns what a command line says of a model.
func parseModel(t *testing.T, args ...string) *Model {
	var m Model
	var flags Flags
	m.Required(&flags)
	m.Parts(&flags)
	m.Machine(&flags)
	require.NoError(t, flags.Set().Parse(args))
	return &m
}

func TestModelFlagsAreTheEnginesOptions(t *testing.T) {
	m := parseModel(t)
	assert.Equal(t, core.Options{ChunkSeconds: 24, KVType: "auto"}, m.Options)
	m = parseModel(t, "--model", "a", "--codec", "b", "--mode", "custom-voice", "--predictor", "c", "--tokenizer", "d",
		"--device", "cpu", "--onnx-provider", "cuda", "--threads", "3", "--context", "4", "--codec-chunk-dur", "5",
		"--no-fa", "--clamp-fp16", "--codec-bf16", "--kv-type", "q8_0")
	require.NoError(t, m.Check(true))
	assert.Equal(t, core.Options{TalkerPath: "a", CodecPath: "b", Mode: core.ModeCustomVoice, PredictorPath: "c", TokenizerPath: "d",
		Device: "cpu", ONNXProvider: "cuda", Threads: 3, Context: 4, ChunkSeconds: 5,
		NoFlashAttention: true, ClampFP16: true, CodecBF16: true, KVType: "q8_0"}, m.Options)
}

func TestModelFlagsThatContradict(t *testing.T) {
	for want, args := range map[string][]string{
		"--model is missing, or --hf":      nil,
		"--codec is missing":               {"--model", "m"},
		"there is none (qwen-tokenizer":    {"--model", t.TempDir()},
		"--hf and --model exclude":         {"--hf", "a/b", "--model", "m"},
		"--hf and --predictor, --tokenize": {"--hf", "a/b", "--tokenizer", "t"},
		`--mode: "song"`:                   {"--model", "m", "--codec", "c", "--mode", "song"},
	} {
		err := parseModel(t, args...).Check(true)
		assert.ErrorContains(t, err, want)
		assert.ErrorAs(t, err, new(UsageError))
	}
	assert.NoError(t, parseModel(t, "--model", "m").Check(false))
	assert.NoError(t, parseModel(t, "--hf", "a/b", "--mode", "base").Check(true))
}

func TestModelsAreFetchedByMode(t *testing.T) {
	files := map[string][]byte{"qwen-tokenizer-12hz-F32.gguf": []byte("codec")}
	for _, mode := range []string{"base", "customvoice", "voicedesign"} {
		files["qwen-talker-0.6b-"+mode+"-F32.gguf"] = []byte(mode)
	}
	hub := hubtest.New(t, files)
	for k, v := range map[string]string{"HF_ENDPOINT": hub.URL, "HF_HUB_CACHE": t.TempDir(), "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": ""} {
		t.Setenv(k, v)
	}
	p := Puller{Console: NewConsole(os.Stderr, "x"), Stderr: os.Stderr}
	fetch := func(implied core.Mode, args ...string) (*Model, error) {
		m := parseModel(t, args...)
		require.NoError(t, m.Check(true))
		return m, m.Fetch(t.Context(), p, implied, true)
	}
	for _, tc := range []struct {
		implied core.Mode
		args    []string
		want    string
	}{
		{"", []string{"--hf", hubtest.Repo, "--mode", "custom_voice"}, "customvoice"},
		{core.ModeVoiceDesign, []string{"--hf", hubtest.Repo}, "voicedesign"},
		{core.ModeVoiceDesign, []string{"--hf", hubtest.Repo, "--mode", "base"}, "base"},
		{core.ModeVoiceDesign, []string{"--hf", hubtest.Repo + ":base"}, "base"},
	} {
		m, err := fetch(tc.implied, tc.args...)
		require.NoError(t, err)
		data, err := os.ReadFile(m.TalkerPath)
		require.NoError(t, err)
		assert.Equal(t, tc.want, string(data))
		assert.Equal(t, "qwen-talker-0.6b-"+tc.want+"-F32", m.Name())
		assert.Equal(t, "qwen-tokenizer-12hz-F32.gguf", filepath.Base(m.CodecPath))
	}
	m, err := fetch("", "--hf", hubtest.Repo+":customvoice", "--codec", "mine.gguf")
	require.NoError(t, err)
	assert.Equal(t, "mine.gguf", m.CodecPath)
	path, err := m.FetchTalker(t.Context(), p, core.ModeBase)
	require.NoError(t, err)
	assert.Equal(t, "qwen-talker-0.6b-base-F32.gguf", filepath.Base(path))

	_, err = fetch("", "--hf", hubtest.Repo+":base", "--mode", "customvoice")
	assert.ErrorContains(t, err, "--hf "+hubtest.Repo+":base and --mode customvoice exclude each other")
	delete(hub.Files, "qwen-tokenizer-12hz-F32.gguf")
	_, err = fetch(core.ModeBase, "--hf", hubtest.Repo)
	assert.ErrorContains(t, err, "has no codec")
	assert.ErrorAs(t, err, new(ModeError))
}

func TestNamesOfModels(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	for path, want := range map[string]string{"a/b.gguf": "b", "a/b": "b", ".": filepath.Base(here)} {
		m := Model{Options: core.Options{TalkerPath: path}}
		assert.Equal(t, want, m.Name())
	}
	m := Model{Options: core.Options{TalkerPath: "snapshots/0123"}, repo: "org/name"}
	assert.Equal(t, "name", m.Name())
}
