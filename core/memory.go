package core

import (
	"bufio"
	"fmt"
	"math"
	"os"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// fewestPositions that a context is cut to where memory is short: three minutes of speech, or twice that with
// a short prompt.
const fewestPositions = 4096

// memoryPlan is what syntheses need at most, in bytes, besides the weights. Keys and values are allocated as they are
// needed, each time twice as much.
type memoryPlan struct {
	syntheses int
	positions int // of each
	kv        *ggml.Type
	cache     uint64 // keys and values of one
	graphs    uint64 // intermediate results
	codec     uint64 // carried state and intermediate results of one
	available uint64 // on the language models' device; 0: not known
}

// codecBytes is a generous estimate of what the codec needs for one synthesis: 9 MiB for each frame of its widest graph,
// as much for the narrower ones, and its state.
const codecBytes = (2*decodeFrames + 1) * 9 << 20

// planMemory decides how many positions a synthesis may have: as many as asked for or, without a wish, as the model can
// and as fit, beside `pending` bytes of weights that are still to come. A wish that does not fit is refused, ErrMemory,
// with the figures.
func (e *Engine) planMemory(f *gguf.File, pending uint64) (memoryPlan, error) {
	p := memoryPlan{syntheses: max(1, e.opts.MaxBatch), positions: e.lm.Context, kv: e.opts.kvType(), codec: codecBytes, available: available(e.be)}
	if p.available > 0 {
		p.available -= min(pending, p.available-1)
	}
	if e.opts.Context > 0 {
		p.positions = min(p.positions, e.opts.Context)
	}
	p.size(f, e.lm.Config)
	for e.opts.Context == 0 && p.positions > fewestPositions && p.short() {
		p.positions = max(p.positions/2, fewestPositions)
		p.size(f, e.lm.Config)
	}
	if p.short() {
		return p, fail(ErrMemory, "max_batch, n_ctx: %s; fewer syntheses (max_batch) or positions (n_ctx) need less", p)
	}
	return p, nil
}

func (p *memoryPlan) size(f *gguf.File, c lm.Config) {
	p.cache, p.graphs = lm.CacheBytes(f, c, p.positions, p.kv), uint64(p.syntheses)*lm.GraphBytes(c, p.positions)
}

// total is what all syntheses need. While a cache grows, the one before it, half as large, is there as well.
func (p *memoryPlan) total() uint64 {
	n := uint64(p.syntheses)
	return n*p.cache + n*p.cache/2 + p.graphs + n*p.codec
}

// short tells whether there is not enough.
func (p *memoryPlan) short() bool { return p.available > 0 && p.total() > p.available }

func (p memoryPlan) String() string {
	s := fmt.Sprintf("%d at a time of up to %d positions need at most %.0f MiB: %.0f for keys and values (%.0f while they grow), %.0f for intermediate results, %.0f for the codec",
		p.syntheses, p.positions, mib(p.total()), mib(uint64(p.syntheses)*p.cache), mib(uint64(p.syntheses)*p.cache*3/2), mib(p.graphs), mib(uint64(p.syntheses)*p.codec))
	if p.available > 0 {
		s += fmt.Sprintf("; %.0f MiB are available", mib(p.available))
	}
	return s
}

// available memory of a device in bytes; of the host what the system, or the process's cgroups, have left. 0: not known.
func available(be *ggml.Backend) uint64 {
	if !be.Host() {
		free, _ := be.Memory()
		return free
	}
	left := uint64(math.MaxUint64)
	if n := memAvailable(); n > 0 {
		left = n
	}
	if n, ok := hostCgroups().memory(); ok {
		left = min(left, n)
	}
	if left == math.MaxUint64 {
		return 0
	}
	return left
}

// memAvailable is what the system could give to programs without swapping; 0 where it does not tell.
func memAvailable() uint64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib uint64
		if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
