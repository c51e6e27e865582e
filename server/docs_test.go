package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/internal/testenv"
)

// TestTheDocumentation runs the commands of docs/server.md that call a server, on one of the kind of model they are for.
func TestTheDocumentation(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs/server.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sh (\\w+)\n(.*?)```").FindAllSubmatch(doc, -1)
	require.Len(t, blocks, 2)
	for _, b := range blocks {
		commands := string(b[2])
		r := start(t, tiny(t, map[string]string{"custom_voice": custom, "base": base}[string(b[1])]))
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "clip.wav"), recording(t), 0o666))
		for command := range strings.Lines(commands) {
			require.True(t, strings.HasPrefix(command, "curl "), command)
			command = "curl -sS --fail-with-body " + strings.ReplaceAll(strings.TrimPrefix(command, "curl "), "http://127.0.0.1:8080", r.url)
			cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s%s", command, out)
			if file := regexp.MustCompile(`-o (\S+)`).FindStringSubmatch(command); file != nil {
				clip, err := audio.Load(filepath.Join(dir, file[1]))
				require.NoError(t, err, command)
				assert.Positive(t, clip.Seconds())
			} else {
				assert.NotEmpty(t, out, command)
			}
		}
	}
}

// TestTheDocumentationKnowsTheFields: those of the API's description are in the table.
func TestTheDocumentationKnowsTheFields(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs/server.md"))
	require.NoError(t, err)
	var api struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	start(t, nil).get("/openapi.json").json(t, &api)
	for name := range api.Components.Schemas["SpeechRequest"].Properties {
		assert.Contains(t, string(doc), "`"+name+"`")
	}
}
