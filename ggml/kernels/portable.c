// Vectors of four floats, which compilers turn into whatever the target has.

#include <stdint.h>
#include <string.h>

#define LEVEL portable
#define TARGET
#define LANES 4
#define TILE 4

typedef float V __attribute__((vector_size(16)));
typedef uint32_t bits __attribute__((vector_size(16)));
typedef uint16_t half_bits __attribute__((vector_size(8)));

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

INTERNAL bits load_half(const char *p) {
	half_bits h;
	memcpy(&h, p, sizeof h);
	return __builtin_convertvector(h, bits);
}

INTERNAL V load_bf16(const char *p) { return (V)(load_half(p) << 16); }

// load_f16 moves exponent and fraction to their places; the factor corrects the exponent's bias, of subnormals too.
// Weights are finite.
INTERNAL V load_f16(const char *p) {
	bits h = load_half(p);
	V v = (V)((h & 0x7fff) << 13) * splat(0x1p112f);
	return (V)((bits)v | (h & 0x8000) << 16);
}

// Without fused multiply-add, single precision loses what Snake's reduction needs.
INTERNAL V snake_portable(V x, V a, V inv_b);
#define SNAKE snake_portable

#include "tile.h"

INTERNAL V snake_portable(V x, V a, V inv_b) {
	V y;
	lqk_snake_far((float *)&y, (const float *)&x, (const float *)&a, (const float *)&inv_b, LANES);
	return y;
}
