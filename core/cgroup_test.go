package core

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCgroups: the tightest of a group's limits and those above it counts, in both versions, in and out of a container.
func TestCgroups(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		self       string
		files      map[string]string
		memory     uint64
		limited    bool
		processors float64
	}{
		"none": {},
		"version 2, of a service": {
			self: "0::/system.slice/qwen.service\n",
			files: map[string]string{
				"system.slice/qwen.service/memory.max": "1073741824\n", "system.slice/qwen.service/memory.current": "524288000\n",
				"system.slice/qwen.service/memory.stat": "anon 1\nfile 2\ninactive_file 104857600\nactive_file 3\n",
				"system.slice/memory.max":               "max\n", "system.slice/memory.current": "99999999999\n",
				"system.slice/qwen.service/cpu.max": "max 100000\n", "system.slice/cpu.max": "150000 100000\n",
			},
			memory: (1024 - 400) * mib, limited: true, processors: 1.5,
		},
		"version 2, the one above is tighter": {
			self: "0::/a/b/c\n",
			files: map[string]string{
				"a/b/c/memory.max": "4294967296\n", "a/b/c/memory.current": "1048576\n",
				"a/memory.max": "2097152\n", "a/memory.current": "3145728\n",
				"a/b/c/cpu.max": "400000 100000\n", "a/b/cpu.max": "200000 100000\n",
			},
			memory: 0, limited: true, processors: 2,
		},
		"version 2, in a container": {
			self:   "0::/\n",
			files:  map[string]string{"memory.max": "2097152\n", "memory.current": "1048576\n", "cpu.max": "50000 100000\n"},
			memory: mib, limited: true, processors: .5,
		},
		"version 1": {
			self: "7:memory:/x/y\n3:cpuacct,cpu:/x\n0::/z\n",
			files: map[string]string{
				"memory/x/y/memory.limit_in_bytes": "10485760\n", "memory/x/y/memory.usage_in_bytes": "5242880\n",
				"memory/x/y/memory.stat":       "inactive_file 7\ntotal_inactive_file 1048576\n",
				"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "1\n",
				"cpu/x/cpu.cfs_quota_us": "-1\n", "cpu/x/cpu.cfs_period_us": "100000\n",
				"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n",
			},
			memory: 6 * mib, limited: true, processors: 3,
		},
		"version 1, in a container that has the names outside": {
			self:   "7:memory:/docker/0123456789\n",
			files:  map[string]string{"memory/memory.limit_in_bytes": "2097152\n", "memory/memory.usage_in_bytes": "0\n"},
			memory: 2 * mib, limited: true,
		},
		"nonsense": {
			self:  ":\n::\n0::/../..\nmemory\n",
			files: map[string]string{"memory.max": "", "memory.current": "-1", "cpu.max": "NaN 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			groups := cgroups{filepath.Join(dir, "cgroup"), filepath.Join(dir, "self")}
			if c.self != "" {
				require.NoError(t, os.WriteFile(groups.self, []byte(c.self), 0o666))
			}
			for file, content := range c.files {
				path := filepath.Join(groups.mount, file)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
				require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
			}
			memory, limited := groups.memory()
			assert.Equal(t, c.limited, limited)
			if limited {
				assert.Equal(t, c.memory, memory)
			}
			assert.Equal(t, c.processors, groups.processors())
		})
	}
}
