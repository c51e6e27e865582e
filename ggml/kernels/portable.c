// Vectors of four floats, which compilers turn into whatever the target has. Weights are F32: widening 16 bits without
// an instruction for it takes longer than the products.

#include <string.h>

#define LEVEL portable
#define TARGET
#define LANES 4
#define TILE 4

typedef float V __attribute__((vector_size(16)));

#define INTERNAL static inline __attribute__((always_inline))

INTERNAL V load(const float *p) {
	V v;
	memcpy(&v, p, sizeof v);
	return v;
}

INTERNAL void store(float *p, V v) { memcpy(p, &v, sizeof v); }
INTERNAL V splat(float x) { return (V){x, x, x, x}; }
INTERNAL V add(V a, V b) { return a + b; }
INTERNAL V fma_(V a, V b, V c) { return a * b + c; }

// Without fused multiply-add, single precision loses what Snake's reduction needs.
INTERNAL V snake_portable(V x, V a, V inv_b);
#define SNAKE snake_portable

#include "tile.h"

INTERNAL V snake_portable(V x, V a, V inv_b) {
	V y;
	lqk_snake_far((float *)&y, (const float *)&x, (const float *)&a, (const float *)&inv_b, LANES);
	return y;
}
