// A level is the convolution's inner loops for one instruction set.
//
// Packed weights: the outputs are divided into panels of `panel` outputs (the last one may be cut to `vector`). A panel
// holds for each step s = tap·in + channel the weights of its outputs side by side, [taps·in][panel], padded with
// zeros. (Rounded weights: a step is a pair of channels, whose weights are neighbours.) So an inner loop reads weights in the order in which they lie, and each output is one sum over the steps in
// order, started at zero, of fused multiply-adds (plain ones at the portable level): its bits do not depend on how the
// rows and panels are divided among tiles and threads.
#ifndef LQK_LEVEL_H
#define LQK_LEVEL_H

#include "kernels.h"

enum {
	LQK_BLOCK = 64,     // rows that a panel's sums are held for at a time
	LQK_MAX_PANEL = 48, // outputs
	LQK_MAX_TILE = 8,   // rows
	LQK_SIZES = 4,      // of tiles: 1, 2, 4, 8 rows
	LQK_MAX_TAPS = 16   // of one call of a tile
};

// lqk_tile adds to the sums [rows of the tile][panel], or to zero if they are fresh, the products of some taps' weights
// with n steps of each. x has the addresses of the rows, LQK_MAX_TILE for each tap. What lies at `ahead` is brought
// near meanwhile, a cache line and `stride` bytes a step.
typedef void lqk_tile(float *sums, int fresh, const void *weight, const void *const *x, int taps, int64_t n,
                      const char *ahead, ptrdiff_t stride);

// lqk_finish turns the sums of some rows of a panel into results. Vectors of the panel are in arrays that are padded to
// its width; the others have a distance of `out` between rows.
struct lqk_finish {
	const float *sums;                   // [rows][panel]
	const float *bias, *alpha, *inv_beta; // [panel]; alpha may be NULL
	const float *add;                    // NULL or at the panel's first output, as the two below
	float *sum, *activated;              // either may be NULL
	int64_t rows, width, panel, out;     // width: outputs of the panel that exist
};

struct lqk_level {
	int panel, vector; // outputs
	int tile;          // rows of the largest tile
	lqk_tile *tiles[LQK_TYPES][2][LQK_SIZES]; // [type][panel is whole][log2 rows]
	void (*finish)(const struct lqk_finish *);
	void (*round)(uint16_t *y, const float *x, int64_t n); // to BF16; NULL where there are no rounded weights
};

extern const struct lqk_level lqk_portable, lqk_neon, lqk_avx2, lqk_avx512, lqk_avx512_bf16;

// lqk_snake_far is Snake for arguments a·x that are too large for the reduction in single precision.
void lqk_snake_far(float *y, const float *x, const float *a, const float *inv_b, int n);

#endif
