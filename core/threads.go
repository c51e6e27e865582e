package core

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// EnvThreads is the environment variable for the number of CPU threads.
const EnvThreads = "QWEN_THREADS"

// Threads resolves a wish for a number of CPU threads, of which 0 is none, as [Options] does. The error is ErrInvalid.
func Threads(wanted int) (int, error) { return (&Options{Threads: wanted}).threads() }

// mostThreads by default: beyond it, the memory is the limit and every barrier costs more.
const mostThreads = 8

// DefaultThreads is the number of CPU threads that suits this process now: the processors it may run on, within
// the limit of its cgroups, less those that other work keeps busy. ggml's threads wait for each other without
// sleeping, so one thread too many costs far more than one too few.
func DefaultThreads() int {
	n := math.Max(1, math.Floor(processors())) - math.Round(loadAverage())
	return int(math.Max(1, math.Min(n, mostThreads)))
}

// processors is how many this process may use at once.
func processors() float64 {
	n := float64(runtime.NumCPU()) // respects the affinity mask
	if q := hostCgroups().processors(); q > 0 {
		n = math.Min(n, q)
	}
	return n
}

// divide splits threads among the language models and the codec, 0 meaning that they take turns on the same one. Work
// side by side needs no barrier, and so loses nothing on a busy machine. Of one frame's time the codec needs about a
// third.
func divide(threads int) (forLM, forCodec int) {
	if threads < 2 {
		return threads, 0
	}
	forCodec = max(1, threads/3)
	return threads - forCodec, forCodec
}

// threads resolves the option and the environment. More threads than processors would wait for each other in turns of
// the scheduler: a hundred times slower with twice as many, and so for ever with the number of another machine.
func (o *Options) threads() (int, error) {
	n, err := o.wantedThreads()
	if most := int(math.Ceil(processors())); n > most {
		o.logger().Warn(fmt.Sprintf("threads: %d are asked for, this process may use %d processors: %d are used", n, most, most))
		n = most
	}
	return n, err
}

func (o *Options) wantedThreads() (int, error) {
	if o.Threads < 0 || o.Threads > 512 {
		return 0, fail(ErrInvalid, "threads: %d is not in 0..512", o.Threads)
	}
	if o.Threads > 0 {
		return o.Threads, nil
	}
	if s := os.Getenv(EnvThreads); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 512 {
			return 0, fail(ErrInvalid, "%s: %q is not a number in 1..512", EnvThreads, s)
		}
		return n, nil
	}
	return DefaultThreads(), nil
}

// loadAverage of the last minute, 0 where the system does not tell.
func loadAverage() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}
