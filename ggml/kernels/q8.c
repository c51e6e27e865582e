// The wide form of Q8_0 products; see q8.h.
#include "q8.h"

#include "kernels.h"

#if defined(__x86_64__)

#include <string.h>

#include "q8_vnni.h"

// A panel is rows of weights whose results are gathered before they are written, for up to three tiles of columns:
// with 4 rows, 24 of the 32 registers hold sums.
enum { PANEL = 16, TILES = 3, WIDTH = TILES * TILE };

int lqk_q8_has(void) {
	return lqk_has(LQK_AVX512) && lqk_has(LQK_AVX2) && __builtin_cpu_supports("avx512vnni") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

TARGET static void pack_block(struct lqk_q8_packed *p, int column, const float *x) {
	int8_t q[BLOCK];
	int32_t sums[2];
	round_block(q, &p->scale[column], sums, x);
	p->correction[column] = -128 * (sums[0] + sums[1]);
	for (int i = 0; i < 8; i++) memcpy(p->q[i] + 4 * column, q + 4 * i, 4);
}

void lqk_q8_pack(void *tensor, int thread, int threads, void *call) {
	static const float nothing[BLOCK];
	const struct lqk_q8_pack *c = call;
	const int64_t blocks = c->in / BLOCK, tiles = (c->columns + TILE - 1) / TILE;
	(void)tensor;
	for (int64_t i = thread; i < tiles * blocks; i += threads)
		for (int column = 0; column < TILE; column++) {
			const int64_t n = i / blocks * TILE + column;
			pack_block(c->result + i, column, n < c->columns ? c->x + n * c->in + i % blocks * BLOCK : nothing);
		}
}

// Four successive weights in every lane, made unsigned.
TARGET static inline __m512i four(const uint8_t *p) {
	int32_t w;
	memcpy(&w, p, 4);
	return _mm512_xor_si512(_mm512_set1_epi32(w), _mm512_set1_epi32((int32_t)0x80808080));
}

TARGET static inline __m512 scale_of(const uint8_t *p) {
	uint16_t h;
	memcpy(&h, p, 2);
	return _mm512_set1_ps(_cvtsh_ss(h));
}

// Results of some rows and tiles, [rows][WIDTH].
#define DOT(rows, tiles)                                                                                               \
	TARGET static void dot_##rows##_##tiles(float *y, const uint8_t *w, int64_t blocks, const struct lqk_q8_packed *x) {     \
		__m512 sum[rows][tiles];                                                                                       \
		for (int r = 0; r < rows; r++)                                                                                 \
			for (int t = 0; t < tiles; t++) sum[r][t] = _mm512_setzero_ps();                                           \
		for (int64_t b = 0; b < blocks; b++) {                                                                         \
			__m512i s[rows][tiles];                                                                                    \
			for (int t = 0; t < tiles; t++)                                                                            \
				for (int r = 0; r < rows; r++) s[r][t] = _mm512_loadu_si512(x[t * blocks + b].correction);             \
			for (int r = 0; r < rows; r++) _mm_prefetch((const char*)w + ((rows + r) * blocks + b) * BYTES, _MM_HINT_T0); \
			_Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) {                                                      \
				__m512i v[tiles];                                                                                      \
				for (int t = 0; t < tiles; t++) v[t] = _mm512_loadu_si512(x[t * blocks + b].q[i]);                     \
				for (int r = 0; r < rows; r++) {                                                                       \
					const __m512i weight = four(w + (r * blocks + b) * BYTES + 2 + 4 * i);                             \
					for (int t = 0; t < tiles; t++) s[r][t] = _mm512_dpbusd_epi32(s[r][t], weight, v[t]);              \
				}                                                                                                      \
			}                                                                                                          \
			for (int t = 0; t < tiles; t++) {                                                                          \
				const __m512 scale = _mm512_loadu_ps(x[t * blocks + b].scale);                                         \
				for (int r = 0; r < rows; r++)                                                                         \
					sum[r][t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(s[r][t]),                                           \
					                            _mm512_mul_ps(scale, scale_of(w + (r * blocks + b) * BYTES)), sum[r][t]); \
			}                                                                                                          \
		}                                                                                                              \
		for (int r = 0; r < rows; r++)                                                                                 \
			for (int t = 0; t < tiles; t++) _mm512_storeu_ps(y + r * WIDTH + t * TILE, sum[r][t]);                     \
	}

DOT(1, 1)
DOT(1, 2)
DOT(1, 3)
DOT(8, 1)
DOT(4, 2)
DOT(4, 3)

typedef void dot(float *y, const uint8_t *w, int64_t blocks, const struct lqk_q8_packed *x);

// By the number of tiles: one row, and several.
static const struct {
	dot *one, *some;
	int rows;
} dots[TILES + 1] = {{0, 0, 0}, {dot_1_1, dot_8_1, 8}, {dot_1_2, dot_4_2, 4}, {dot_1_3, dot_4_3, 4}};

// panel leaves the results of its rows in y [rows][WIDTH].
static void panel(float *y, const uint8_t *w, int rows, int64_t blocks, const struct lqk_q8_packed *x, int tiles) {
	const int64_t row = blocks * BYTES;
	int r = 0;
	for (; r + dots[tiles].rows <= rows; r += dots[tiles].rows) dots[tiles].some(y + r * WIDTH, w + r * row, blocks, x);
	for (; r < rows; r++) dots[tiles].one(y + r * WIDTH, w + r * row, blocks, x);
}

void lqk_q8_wide(void *tensor, int thread, int threads, void *call) {
	const struct lqk_q8_matmul *c = call;
	const int64_t blocks = c->in / BLOCK, tiles = (c->columns + TILE - 1) / TILE, panels = (c->out + PANEL - 1) / PANEL;
	float y[PANEL * WIDTH];
	(void)tensor;
	for (int64_t p = panels * thread / threads; p < panels * (thread + 1) / threads; p++) {
		const int64_t first = p * PANEL;
		const int rows = c->out - first < PANEL ? (int)(c->out - first) : PANEL;
		for (int64_t t = 0; t < tiles; t += TILES) {
			const int some = tiles - t < TILES ? (int)(tiles - t) : TILES;
			panel(y, c->weight + first * blocks * BYTES, rows, blocks, (const struct lqk_q8_packed *)c->x + t * blocks, some);
			for (int64_t n = t * TILE; n < (t + some) * TILE && n < c->columns; n++)
				for (int r = 0; r < rows; r++) c->result[n * c->out + first + r] = y[r * WIDTH + n - t * TILE];
		}
	}
}

#else

int lqk_q8_has(void) { return 0; }

void lqk_q8_pack(void *tensor, int thread, int threads, void *call) { (void)tensor, (void)thread, (void)threads, (void)call; }
void lqk_q8_wide(void *tensor, int thread, int threads, void *call) { (void)tensor, (void)thread, (void)threads, (void)call; }

#endif
