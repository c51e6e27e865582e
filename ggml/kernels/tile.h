// The inner loops of a level, written once over a vector type. The including file defines:
//
//   LEVEL             the name of the level
//   TARGET            attributes that enable the instructions
//   V, LANES          the vector type and its floats
//   TILE              rows of the largest tile
//   load, store, splat, fma_, add, mul, nearest, beyond
//                     fma_(a, b, c) is a·b + c, rounded once where the hardware can; beyond(v, limit) tells whether
//                     any |v| > limit
//   load_f16, load_bf16
//                     LANES of these types, widened; without them there are only tiles for F32
//   dot_pairs, store_rounded
//                     dot_pairs(sum, a, b) adds the products of LANES pairs of BF16; without it there are no tiles for
//                     rounded weights; store_rounded(p, v) stores v as BF16
//   SNAKE             a function for Snake, if not the one below

#include <string.h>

#include "level.h"

#define VECTORS 3 // of a panel

#define CAT_(a, b) a##_##b
#define CAT(a, b) CAT_(a, b)
#define INLINE static inline __attribute__((always_inline)) TARGET
#define UNROLL _Pragma("GCC unroll 8")

#ifndef SNAKE
#define SNAKE snake

// Snake's sin² has period π: with n = a·x/π rounded, r = a·x - n·π is within ±π/2 and a little, and sin²(a·x) = sin² r.
// The product's rounding error (fma), π in two parts and an odd polynomial of degree 9 keep the error of
// x + sin²(a·x)/b below 1e-6 of |x| + sin²(a·x)/b, up to |a·x| = FAR; beyond that, double precision takes over.
#define FAR 32768.0f

INLINE V snake(V x, V a, V inv_b) {
	V z = mul(a, x);
	if (beyond(z, FAR)) {
		float y[LANES], xs[LANES], as[LANES], bs[LANES];
		store(xs, x), store(as, a), store(bs, inv_b);
		lqk_snake_far(y, xs, as, bs, LANES);
		return load(y);
	}
	V low = fma_(a, x, mul(z, splat(-1.0f))); // a·x = z + low
	V n = nearest(mul(z, splat(0.318309873f)));
	V r = fma_(n, splat(-3.14159274f), z);
	r = add(fma_(n, splat(8.74227766e-8f), r), low);
	V q = mul(r, r);
	V p = fma_(splat(2.60306479e-6f), q, splat(-1.98084308e-4f));
	p = fma_(p, q, splat(8.33305158e-3f));
	p = fma_(p, q, splat(-0.166666597f));
	p = mul(p, q);
	V s = fma_(p, r, r);
	return fma_(mul(s, s), inv_b, x);
}

#endif

INLINE void finish_vector(const struct lqk_finish *f, const float *sums, int j, int64_t at) {
	V v = add(load(sums + j), load(f->bias + j));
	if (f->add)
		v = add(v, load(f->add + at + j));
	if (f->sum)
		store(f->sum + at + j, v);
	if (f->activated)
		store(f->activated + at + j, f->alpha ? SNAKE(v, load(f->alpha + j), load(f->inv_beta + j)) : v);
}

// finish_rest does the last n < LANES outputs of a row in vectors of their own.
INLINE void finish_rest(const struct lqk_finish *f, const float *sums, int j, int64_t at, size_t n) {
	float rest[3][LANES] = {{0}};
	struct lqk_finish g = *f;
	g.bias += j;
	if (g.alpha)
		g.alpha += j, g.inv_beta += j;
	if (g.add)
		g.add = memcpy(rest[0], f->add + at + j, n * sizeof(float));
	if (g.sum)
		g.sum = rest[1];
	if (g.activated)
		g.activated = rest[2];
	finish_vector(&g, sums + j, 0, 0);
	if (g.sum)
		memcpy(f->sum + at + j, rest[1], n * sizeof(float));
	if (g.activated)
		memcpy(f->activated + at + j, rest[2], n * sizeof(float));
}

TARGET static void finish(const struct lqk_finish *f) {
	for (int64_t t = 0; t < f->rows; t++) {
		int64_t j = 0, at = t * f->out;
		for (; j + LANES <= f->width; j += LANES)
			finish_vector(f, f->sums + t * f->panel, (int)j, at);
		if (j < f->width)
			finish_rest(f, f->sums + t * f->panel, (int)j, at, (size_t)(f->width - j));
	}
}

INLINE V load_weight(const char *p, int type) {
#ifdef load_f16
	if (type == LQK_F16)
		return load_f16(p);
	if (type == LQK_BF16)
		return load_bf16(p);
#endif
	(void)type;
	return load((const float *)(const void *)p);
}

INLINE V accumulate(V sum, V w, V x, int type) {
#ifdef dot_pairs
	if (type == LQK_ROUNDED)
		return dot_pairs(sum, w, x);
#endif
	(void)type;
	return fma_(w, x, sum);
}

typedef float __attribute__((may_alias)) four_bytes; // of a row: a float or a pair of BF16

// tile is inlined with constant rows, vectors and type: its short loops unroll, and the sums stay in registers.
INLINE void tile(float *sums, int fresh, const char *w, const void *const *x, int taps, int64_t n, const char *ahead,
                 ptrdiff_t stride, int rows, int vectors, int type) {
	const int bytes = LANES * (type == LQK_F16 || type == LQK_BF16 ? 2 : 4);
	V sum[TILE][VECTORS];
	UNROLL for (int m = 0; m < rows; m++)
		UNROLL for (int j = 0; j < vectors; j++)
			sum[m][j] = fresh ? splat(0) : load(sums + (m * vectors + j) * LANES);
	for (int k = 0; k < taps; k++, x += LQK_MAX_TILE) {
		const four_bytes *row[TILE];
		UNROLL for (int m = 0; m < rows; m++)
			row[m] = x[m];
		for (int64_t i = 0; i < n; i++, w += vectors * bytes, ahead += stride) {
			V step[VECTORS];
			__builtin_prefetch(ahead, 0, 2);
			UNROLL for (int j = 0; j < vectors; j++)
				step[j] = load_weight(w + j * bytes, type);
			UNROLL for (int m = 0; m < rows; m++) {
				V v = splat(row[m][i]);
				UNROLL for (int j = 0; j < vectors; j++)
					sum[m][j] = accumulate(sum[m][j], step[j], v, type);
			}
		}
	}
	UNROLL for (int m = 0; m < rows; m++)
		UNROLL for (int j = 0; j < vectors; j++)
			store(sums + (m * vectors + j) * LANES, sum[m][j]);
}

#define TILE_FUNCTION(name, rows, vectors, type)                                                                       \
	TARGET static void name(float *sums, int fresh, const void *weight, const void *const *x, int taps,            \
	                        int64_t n, const char *ahead, ptrdiff_t stride) {                                      \
		tile(sums, fresh, weight, x, taps, n, ahead, stride, rows, vectors, type);                             \
	}

#ifdef dot_pairs
TARGET static void round_to_bf16(uint16_t *y, const float *x, int64_t n) {
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES)
		store_rounded(y + i, load(x + i));
	if (i < n) {
		float rest[LANES] = {0};
		uint16_t rounded[LANES];
		memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);
		store_rounded(rounded, load(rest));
		memcpy(y + i, rounded, (size_t)(n - i) * sizeof *y);
	}
}
#endif

#if TILE == 8
#define TILE_LARGEST TILE_FUNCTION
#define LARGEST(name) name
#else
#define TILE_LARGEST(name, rows, vectors, type)
#define LARGEST(name) NULL
#endif

#define TILE_SIZES(name, vectors, type)                                                                                \
	TILE_FUNCTION(name##_1, 1, vectors, type)                                                                      \
	TILE_FUNCTION(name##_2, 2, vectors, type)                                                                      \
	TILE_FUNCTION(name##_4, 4, vectors, type)                                                                      \
	TILE_LARGEST(name##_8, 8, vectors, type)

#define TILE_WIDTHS(name, type)                                                                                        \
	TILE_SIZES(narrow_##name, 1, type)                                                                             \
	TILE_SIZES(whole_##name, VECTORS, type)

TILE_WIDTHS(f32, LQK_F32)
#ifdef load_f16
TILE_WIDTHS(f16, LQK_F16)
TILE_WIDTHS(bf16, LQK_BF16)
#endif
#ifdef dot_pairs
TILE_WIDTHS(rounded, LQK_ROUNDED)
#endif

#define SIZES(name) {name##_1, name##_2, name##_4, LARGEST(name##_8)}
#define WIDTHS(name) {SIZES(narrow_##name), SIZES(whole_##name)}

const struct lqk_level CAT(lqk, LEVEL) = {
	.panel = VECTORS * LANES,
	.vector = LANES,
	.tile = TILE,
	.tiles = {[LQK_F32] = WIDTHS(f32),
#ifdef load_f16
	          [LQK_F16] = WIDTHS(f16),
	          [LQK_BF16] = WIDTHS(bf16),
#endif
#ifdef dot_pairs
	          [LQK_ROUNDED] = WIDTHS(rounded),
#endif
	},
	.finish = finish,
#ifdef dot_pairs
	.round = round_to_bf16,
#endif
};
