package kernels

import "fmt"

// Level is an instruction set that there are kernels for.
type Level int

// The levels; kernels.h has the same numbers.
const (
	None       Level = iota // no kernels
	Portable                // what a C compiler makes for any processor
	NEON                    // arm64
	AVX2                    // x86-64 with AVX2, FMA and F16C
	AVX512                  // x86-64 with AVX-512F
	AVX512BF16              // the same, with products of BF16 for those who ask for them
)

func (l Level) String() string {
	switch l {
	case None:
		return "none"
	case Portable:
		return "portable"
	case NEON:
		return "NEON"
	case AVX2:
		return "AVX2"
	case AVX512:
		return "AVX-512"
	case AVX512BF16:
		return "AVX-512 BF16"
	}
	return fmt.Sprintf("level %d", int(l))
}

// Levels are those of this processor, None first, slower ones before faster ones.
func Levels() []Level {
	levels := []Level{None}
	for _, l := range []Level{Portable, NEON, AVX2, AVX512, AVX512BF16} {
		if l.available() {
			levels = append(levels, l)
		}
	}
	return levels
}

// vectors of a panel; level.h has the same number.
const vectors = 3

// vector is the number of outputs that one register holds.
func (l Level) vector() int {
	switch l {
	case AVX512, AVX512BF16:
		return 16
	case AVX2:
		return 8
	}
	return 4
}

// padded is the number of outputs with the padding of the last panel: to a vector if that is enough.
func (l Level) padded(out int) int {
	panel := vectors * l.vector()
	switch rest := out % panel; {
	case rest == 0:
		return out
	case rest <= l.vector():
		return out - rest + l.vector()
	default:
		return out - rest + panel
	}
}

// Rounds tells whether there are kernels that round to BF16 at this level.
func (l Level) Rounds() bool { return l == AVX512BF16 }
