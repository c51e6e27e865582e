// What is the same for all levels: the division of a convolution into panels, blocks of rows and tiles.

#include <math.h>
#include <string.h>

#include "level.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>

static int has_f16c(void) {
	unsigned a, b, c, d;
	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

int lqk_has(int level) {
	switch (level) {
	case LQK_PORTABLE:
		return 1;
	case LQK_AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
	case LQK_AVX512:
		return __builtin_cpu_supports("avx512f");
	case LQK_AVX512_BF16:
		return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
	}
	return 0;
}

int lqk_best(void) {
	for (int level = LQK_AVX512_BF16; level >= LQK_AVX2; level--)
		if (lqk_has(level))
			return level;
	return __builtin_cpu_supports("avx") ? LQK_NONE : LQK_PORTABLE; // ggml uses AVX, the portable level does not
}

static const struct lqk_level *const levels[LQK_LEVELS] = {
	[LQK_PORTABLE] = &lqk_portable, [LQK_AVX2] = &lqk_avx2, [LQK_AVX512] = &lqk_avx512,
	[LQK_AVX512_BF16] = &lqk_avx512_bf16};
#elif defined(__aarch64__)
int lqk_has(int level) { return level == LQK_PORTABLE || level == LQK_NEON; }
int lqk_best(void) { return LQK_NEON; }

static const struct lqk_level *const levels[LQK_LEVELS] = {[LQK_PORTABLE] = &lqk_portable, [LQK_NEON] = &lqk_neon};
#else
int lqk_has(int level) { return level == LQK_PORTABLE; }
int lqk_best(void) { return LQK_PORTABLE; }

static const struct lqk_level *const levels[LQK_LEVELS] = {[LQK_PORTABLE] = &lqk_portable};
#endif

void lqk_snake_far(float *y, const float *x, const float *a, const float *inv_b, int n) {
	for (int i = 0; i < n; i++) {
		double s = sin((double)a[i] * x[i]);
		y[i] = (float)(x[i] + s * s * inv_b[i]);
	}
}

// A panel of a convolution. Weights are taken in pieces of a few taps that stay in the second-level cache while all
// rows of a block go past.
struct panel {
	const struct lqk_conv *c;
	const struct lqk_level *level;
	const char *weight;
	int64_t first, width; // outputs that exist
	int outputs;          // outputs with the padding
	int64_t steps;        // of a tap: channels, or pairs of them
	int64_t tap_bytes;    // of a tap's weights
};

enum { PIECE_BYTES = 256 << 10 };

static struct panel panel_of(const struct lqk_conv *c, int64_t index) {
	const struct lqk_level *l = levels[c->level];
	struct panel p = {.c = c, .level = l, .first = index * l->panel};
	p.width = c->out - p.first < l->panel ? c->out - p.first : l->panel;
	p.outputs = p.width <= l->vector ? l->vector : l->panel;
	int64_t size = c->type == LQK_F32 ? 4 : 2;
	p.weight = (const char *)c->weight + p.first * c->taps * c->in * size; // all panels before are whole
	p.steps = c->type == LQK_ROUNDED ? c->in / 2 : c->in;
	p.tap_bytes = c->in * p.outputs * size;
	return p;
}

// row is a row of the input, counted from the first new one.
static const void *row(const struct lqk_conv *c, int64_t t) {
	int64_t bytes = c->in * (c->type == LQK_ROUNDED ? 2 : 4);
	return t < 0 ? (const char *)c->past + ((c->taps - 1) * c->dilation + t) * bytes : (const char *)c->x + t * bytes;
}

// sum_piece adds some taps' products to the sums of rows from `from` on; the first tap begins them.
static void sum_piece(const struct panel *p, float *sums, int64_t tap, int taps, int64_t from, int64_t rows) {
	const struct lqk_conv *c = p->c;
	const char *weight = p->weight + tap * p->tap_bytes, *next = weight + taps * p->tap_bytes;
	int64_t near = 0; // bytes of the next piece that were asked for
	lqk_tile *const *tiles = p->level->tiles[c->type][p->outputs == p->level->panel];
	for (int64_t t = 0; t < rows;) {
		int size = LQK_SIZES - 1;
		while ((1 << size) > p->level->tile || t + (1 << size) > rows)
			size--;
		const void *x[LQK_MAX_TAPS * LQK_MAX_TILE];
		for (int k = 0; k < taps; k++)
			for (int m = 0; m < 1 << size; m++)
				x[k * LQK_MAX_TILE + m] = row(c, from + t + m - (c->taps - 1 - tap - k) * c->dilation);
		ptrdiff_t stride = near < p->tap_bytes * taps ? 64 : 0;
		tiles[size](sums + t * p->outputs, tap == 0, weight, x, taps, p->steps, next + near, stride);
		near += taps * p->steps * stride;
		t += 1 << size;
	}
}

// repeat fills a panel's entries of a vector with a period.
static const float *repeat(float *panel, const struct panel *p, const float *v) {
	int64_t from = p->first % p->c->period;
	for (int64_t j = 0; j < p->outputs; j++) {
		panel[j] = j < p->width ? v[from] : 0;
		from = from + 1 < p->c->period ? from + 1 : 0;
	}
	return panel;
}

static void finish(const struct panel *p, const float *sums, int64_t from, int64_t rows) {
	const struct lqk_conv *c = p->c;
	float bias[LQK_MAX_PANEL], alpha[LQK_MAX_PANEL], inv_beta[LQK_MAX_PANEL];
	int64_t at = from * c->out + p->first;
	struct lqk_finish f = {.sums = sums, .rows = rows, .width = p->width, .panel = p->outputs, .out = c->out};
	f.bias = repeat(bias, p, c->bias);
	f.add = c->add ? c->add + at : NULL;
	if (c->alpha) {
		f.alpha = repeat(alpha, p, c->alpha);
		f.inv_beta = repeat(inv_beta, p, c->inv_beta);
		f.activated = c->result + (c->both ? c->rows * c->out : 0) + at;
	}
	if (c->both || !c->alpha)
		f.sum = c->result + at;
	p->level->finish(&f);
}

static void block(const struct panel *p, int64_t from, int64_t rows) {
	float sums[LQK_BLOCK * LQK_MAX_PANEL] __attribute__((aligned(64)));
	int64_t taps = PIECE_BYTES / p->tap_bytes;
	taps = taps < 1 ? 1 : taps > LQK_MAX_TAPS ? LQK_MAX_TAPS : taps;
	for (int64_t tap = 0; tap < p->c->taps; tap += taps) {
		int64_t left = p->c->taps - tap;
		sum_piece(p, sums, tap, (int)(left < taps ? left : taps), from, rows);
	}
	finish(p, sums, from, rows);
}

void lqk_conv(void *tensor, int thread, int threads, void *call) {
	(void)tensor;
	const struct lqk_conv *c = call;
	int64_t width = levels[c->level]->panel;
	int64_t panels = (c->out + width - 1) / width, blocks = (c->rows + LQK_BLOCK - 1) / LQK_BLOCK;
	int64_t parts = panels * blocks; // a panel's blocks in a row: its weights are read once
	for (int64_t i = parts * thread / threads; i < parts * (thread + 1) / threads; i++) {
		struct panel p = panel_of(c, i / blocks);
		int64_t from = i % blocks * LQK_BLOCK, rows = c->rows - from;
		block(&p, from, rows < LQK_BLOCK ? rows : LQK_BLOCK);
	}
}

void lqk_carry(void *tensor, int thread, int threads, void *call) {
	(void)tensor, (void)threads;
	const struct lqk_carry *c = call;
	if (thread != 0)
		return;
	int64_t kept = c->keep - c->rows; // rows of the past that stay
	if (kept < 0)
		kept = 0;
	int64_t fresh = c->keep - kept, row = c->row_bytes;
	memmove(c->past, c->past + fresh * row, (size_t)(kept * row));
	memcpy(c->past + kept * row, c->x + (c->rows - fresh) * row, (size_t)(fresh * row));
}

void lqk_round(void *tensor, int thread, int threads, void *call) {
	(void)tensor;
	const struct lqk_round *c = call;
	int64_t from = c->count * thread / threads, to = c->count * (thread + 1) / threads;
	levels[c->level]->round(c->result + from, c->x + from, to - from);
}
