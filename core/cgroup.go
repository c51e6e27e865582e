package core

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cgroups tells what the control groups of this process, version 1 or 2, grant it. Each group is limited by those above.
type cgroups struct {
	mount string // where they are mounted: /sys/fs/cgroup
	self  string // the file that names this process's: /proc/self/cgroup
}

func hostCgroups() cgroups { return cgroups{"/sys/fs/cgroup", "/proc/self/cgroup"} }

// memory is what the limits leave; false without a limit. Pages of files that were not used lately give way, as they do
// in the system's MemAvailable: a model that has been read is among them.
func (c cgroups) memory() (left uint64, limited bool) {
	left = math.MaxUint64
	for _, g := range c.groups("memory") {
		limit, ok1 := g.number("memory.max", "memory.limit_in_bytes")
		used, ok2 := g.number("memory.current", "memory.usage_in_bytes")
		if !ok1 || !ok2 || limit >= 1<<60 { // version 1 says "no limit" with a huge number
			continue
		}
		used -= min(used, g.idle())
		left, limited = min(left, limit-min(used, limit)), true
	}
	return left, limited
}

// processors that may be used at once; 0 without a limit.
func (c cgroups) processors() float64 {
	least := 0.0
	for _, g := range c.groups("cpu") {
		words := g.words("cpu.max") // "quota period" or "max period"
		if g.old {
			words = append(g.words("cpu.cfs_quota_us"), g.words("cpu.cfs_period_us")...)
		}
		if n := ratio(words); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// cgroup is one control group.
type cgroup struct {
	dir string
	old bool // version 1
}

// groups are the process's group of a controller and those above it. In a container the names may be those outside, of
// which there is no directory: then the container's own group is the root.
func (c cgroups) groups(controller string) (all []cgroup) {
	top, name, old := c.find(controller)
	for dir := filepath.Join("/", name); ; dir = filepath.Dir(dir) {
		all = append(all, cgroup{filepath.Join(top, dir), old})
		if dir == filepath.Dir(dir) {
			return all
		}
	}
}

// find tells where the groups of a controller are mounted, the process's group there, and whether they are of version 1.
func (c cgroups) find(controller string) (top, name string, old bool) {
	f, err := os.Open(c.self)
	if err != nil {
		return c.mount, "", false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); { // number:controllers:name
		words := strings.SplitN(lines.Text(), ":", 3)
		switch {
		case len(words) < 3:
		case words[1] == "": // version 2, if none of version 1 has the controller
			name = words[2]
		case slices.Contains(strings.Split(words[1], ","), controller):
			return filepath.Join(c.mount, controller), words[2], true
		}
	}
	return c.mount, name, false
}

func (g cgroup) words(file string) []string {
	b, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// number is what a file holds, whose name depends on the version; false if there is none, or it says "max".
func (g cgroup) number(file, oldFile string) (uint64, bool) {
	if g.old {
		file = oldFile
	}
	words := g.words(file)
	if len(words) != 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(words[0], 10, 64)
	return n, err == nil
}

// idle is the size of the pages of files that were not used lately, in bytes.
func (g cgroup) idle() uint64 {
	name := "inactive_file"
	if g.old {
		name = "total_inactive_file" // with the groups below
	}
	words := g.words("memory.stat")
	if i := slices.Index(words, name); i >= 0 && i+1 < len(words) {
		if n, err := strconv.ParseUint(words[i+1], 10, 64); err == nil {
			return n
		}
	}
	return 0
}

// ratio of two numbers, 0 if they are none.
func ratio(words []string) float64 {
	if len(words) != 2 {
		return 0
	}
	q, err1 := strconv.ParseFloat(words[0], 64)
	p, err2 := strconv.ParseFloat(words[1], 64)
	if err1 != nil || err2 != nil || !(q > 0 && p > 0) {
		return 0
	}
	return q / p
}
