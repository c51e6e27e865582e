package dylib

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A shell that finds a program along PATH starts it by its bare name.
func TestModuleOfProgramStartedByBareName(t *testing.T) {
	if os.Getenv("DYLIB_TEST_CHILD") != "" {
		_, _ = os.Stdout.WriteString("<" + Module() + ">")
		return
	}
	program, err := os.Executable()
	require.NoError(t, err)
	for _, name := range []string{"qwen-tts", "./qwen-tts", program} {
		child := exec.Command(program, "-test.run", "^"+t.Name()+"$")
		child.Args[0] = name
		child.Dir = t.TempDir()
		child.Env = append(os.Environ(), "DYLIB_TEST_CHILD=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "<"+program+">", "started as %s", name)
	}
}
