package kernels_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestACrewHasNoRaces runs the crew's C under ThreadSanitizer, which Go's race detector cannot look into.
func TestACrewHasNoRaces(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C")
	}
	build := func(name, source string) string {
		program := filepath.Join(t.TempDir(), name)
		out, err := exec.Command("cc", "-std=gnu11", "-O1", "-g", "-fsanitize=thread", source, "-o", program, "-pthread").CombinedOutput()
		if err != nil {
			t.Logf("%s: %v\n%s", source, err, out)
			return ""
		}
		return program
	}
	empty := filepath.Join(t.TempDir(), "empty.c")
	require.NoError(t, os.WriteFile(empty, []byte("int main(void) { return 0; }\n"), 0o666))
	if p := build("empty", empty); p == "" || exec.Command(p).Run() != nil {
		t.Skip("no ThreadSanitizer here")
	}
	program := build("crew", filepath.Join("testdata", "crew.c"))
	require.NotEmpty(t, program, "testdata/crew.c does not compile")
	out, err := exec.Command(program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}
