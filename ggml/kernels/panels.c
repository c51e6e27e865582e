// Products of weights in panels with rounded columns; see panels.h.
#include "panels.h"

#include "crew.h"

#if defined(__x86_64__)

#include "q8_vnni.h"

enum { PANEL = LQK_Q8_PANEL, SUPER = 256, FAR = 16 << 10 };

// The columns are constants so that the sums stay in registers. What lies FAR ahead is brought near while the first
// columns are computed.
#define FORM(name, count)                                                                                              \
	TARGET static void name##_##count(float *y, int64_t out, const uint8_t *w, int64_t in, const struct column *x, int near) { \
		__m512 sum[count];                                                                                             \
		for (int n = 0; n < count; n++) sum[n] = _mm512_setzero_ps();                                                  \
		name(sum, count, w, in, x, near);                                                                              \
		for (int n = 0; n < count; n++) _mm512_storeu_ps(y + n * out, sum[n]);                                         \
	}

#define FORMS(name)                                                                                                    \
	FORM(name, 1) FORM(name, 2) FORM(name, 4) FORM(name, 8)                                                            \
	static panel_of_columns *const name##_of[] = {name##_1, name##_2, name##_4, name##_8};

#define INLINE TARGET static inline __attribute__((always_inline))

INLINE __m512 halves(const uint8_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }

// products of 32 values of 16 rows, unsigned, with those of a column: the sums of the first and of the second half.
INLINE void products(__m512i *first, __m512i *second, const __m512i *weight, const int8_t *q) {
	*first = *second = _mm512_setzero_si512();
	_Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
		*first = _mm512_dpbusd_epi32(*first, weight[i], four_of(q + 4 * i));
		*second = _mm512_dpbusd_epi32(*second, weight[i + 4], four_of(q + 16 + 4 * i));
	}
}

// Q8_0: a block has 16 scales and [8][16] times four bytes, 128 more than they are.
INLINE void q8(__m512 *sum, int count, const uint8_t *w, int64_t in, const struct column *x, int near) {
	enum { BYTES_16 = PANEL * BYTES };
	for (int64_t b = 0; b < in / BLOCK; b++, w += BYTES_16) {
		if (near) AHEAD(w + FAR, BYTES_16);
		const __m512 d = halves(w);
		__m512i weight[8];
		for (int i = 0; i < 8; i++) weight[i] = _mm512_loadu_si512(w + 2 * PANEL + i * 4 * PANEL);
		for (int n = 0; n < count; n++) {
			__m512i first, second;
			products(&first, &second, weight, x[n].q + b * BLOCK);
			const __m512i s = _mm512_add_epi32(_mm512_add_epi32(first, second), _mm512_set1_epi32(correction(x[n], b)));
			sum[n] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(s), _mm512_mul_ps(_mm512_set1_ps(x[n].scale[b]), d), sum[n]);
		}
	}
}

// nibbles spreads four registers into eight: the low halves of the bytes, then the high ones.
INLINE void nibbles(__m512i *weight, const uint8_t *w) {
	const __m512i low = _mm512_set1_epi8(15);
	_Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
		const __m512i v = _mm512_loadu_si512(w + i * 4 * PANEL);
		weight[i] = _mm512_and_si512(v, low);
		weight[i + 4] = _mm512_and_si512(_mm512_srli_epi16(v, 4), low);
	}
}

INLINE __m512 floats_u8(const uint8_t *p) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p))); }

// Q4_K: weight = d·scale·q - dmin·min, with scale and min for 32 values and d and dmin for 256.
INLINE void q4(__m512 *sum, int count, const uint8_t *w, int64_t in, const struct column *x, int near) {
	enum { SCALES = 4 * PANEL, MINS = SCALES + 8 * PANEL, QUANTS = MINS + 8 * PANEL, STEP = 16 * PANEL };
	for (int64_t b = 0; b < in / BLOCK; w += LQK_Q4_PANEL) {
		const __m512 d = halves(w), dmin = halves(w + 2 * PANEL);
		for (int j = 0; j < SUPER / BLOCK; j++, b++) {
			if (near) AHEAD(w + QUANTS + j * STEP + FAR, j == 0 ? LQK_Q4_PANEL - 7 * STEP : STEP);
			const __m512 scale = _mm512_mul_ps(d, floats_u8(w + SCALES + j * PANEL));
			const __m512 min = _mm512_mul_ps(dmin, floats_u8(w + MINS + j * PANEL));
			__m512i weight[8];
			nibbles(weight, w + QUANTS + j * STEP);
			for (int n = 0; n < count; n++) {
				__m512i first, second;
				products(&first, &second, weight, x[n].q + b * BLOCK);
				const float s = x[n].scale[b], all = (float)(x[n].sums[b][0] + x[n].sums[b][1]);
				sum[n] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(first, second)), _mm512_mul_ps(_mm512_set1_ps(s), scale), sum[n]);
				sum[n] = _mm512_fnmadd_ps(_mm512_set1_ps(s * all), min, sum[n]);
			}
		}
	}
}

// sixth adds the two high bits of a six-bit number.
#define SIXTH(low, high) _mm512_ternarylogic_epi64(low, high, bits, 0xf8) // low | (high & bits)

INLINE __m512i ints_i8(const uint8_t *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)); }

// Q6_K: weight = d·scale·(q - 32), with scale for 16 values and d for 256.
INLINE void q6(__m512 *sum, int count, const uint8_t *w, int64_t in, const struct column *x, int near) {
	enum { SCALES = 2 * PANEL, QUANTS = SCALES + 16 * PANEL, HIGH = 16 * PANEL, STEP = HIGH + 8 * PANEL };
	const __m512i bits = _mm512_set1_epi8(0x30);
	for (int64_t b = 0; b < in / BLOCK; w += LQK_Q6_PANEL) {
		const __m512 d = halves(w);
		for (int j = 0; j < SUPER / BLOCK; j++, b++) {
			const uint8_t *p = w + QUANTS + j * STEP;
			if (near) AHEAD(p + FAR, j == 0 ? LQK_Q6_PANEL - 7 * STEP : STEP);
			const __m512i scale0 = ints_i8(w + SCALES + 2 * j * PANEL), scale1 = ints_i8(w + SCALES + (2 * j + 1) * PANEL);
			__m512i weight[8];
			nibbles(weight, p);
			for (int i = 0; i < 2; i++) {
				const __m512i h = _mm512_loadu_si512(p + HIGH + i * 4 * PANEL);
				weight[4 * i] = SIXTH(weight[4 * i], _mm512_slli_epi16(h, 4));
				weight[4 * i + 1] = SIXTH(weight[4 * i + 1], _mm512_slli_epi16(h, 2));
				weight[4 * i + 2] = SIXTH(weight[4 * i + 2], h);
				weight[4 * i + 3] = SIXTH(weight[4 * i + 3], _mm512_srli_epi16(h, 2));
			}
			for (int n = 0; n < count; n++) {
				__m512i first, second;
				products(&first, &second, weight, x[n].q + b * BLOCK);
				first = _mm512_mullo_epi32(scale0, _mm512_sub_epi32(first, _mm512_set1_epi32(32 * x[n].sums[b][0])));
				second = _mm512_mullo_epi32(scale1, _mm512_sub_epi32(second, _mm512_set1_epi32(32 * x[n].sums[b][1])));
				sum[n] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(first, second)),
				                         _mm512_mul_ps(_mm512_set1_ps(x[n].scale[b]), d), sum[n]);
			}
		}
	}
}

FORMS(q8)
FORMS(q4)
FORMS(q6)

static void q8_rows(const struct lqk_q8_matmul *c, int64_t from, int64_t to) {
	each_panel(c, from, to, c->in / BLOCK * PANEL * BYTES, q8_of);
}

void lqk_q8_panels(void *tensor, int thread, int threads, void *call) {
	(void)tensor;
	lqk_divide(call, q8_rows, thread, threads);
}

void lqk_q8_twin(void *tensor, int thread, int threads, void *call) {
	(void)tensor;
	const struct lqk_q8_twin *t = call;
	const int ready = __atomic_load_n(t->ready, __ATOMIC_ACQUIRE); // threads may differ: the results are the same bits
	const struct lqk_q8_matmul c = {t->result, t->x, ready ? t->panels : t->weight, t->in, t->out, t->columns, t->crew};
	lqk_divide(&c, ready ? q8_rows : lqk_q8_few_rows, thread, threads);
}

static void q4_rows(const struct lqk_q8_matmul *c, int64_t from, int64_t to) {
	each_panel(c, from, to, c->in / SUPER * LQK_Q4_PANEL, q4_of);
}

void lqk_q4_panels(void *tensor, int thread, int threads, void *call) {
	(void)tensor;
	lqk_divide(call, q4_rows, thread, threads);
}

static void q6_rows(const struct lqk_q8_matmul *c, int64_t from, int64_t to) {
	each_panel(c, from, to, c->in / SUPER * LQK_Q6_PANEL, q6_of);
}

void lqk_q6_panels(void *tensor, int thread, int threads, void *call) {
	(void)tensor;
	lqk_divide(call, q6_rows, thread, threads);
}

#else

#define NONE                                                                                                           \
	{ (void)tensor, (void)thread, (void)threads, (void)call; }

void lqk_q8_panels(void *tensor, int thread, int threads, void *call) NONE
void lqk_q8_twin(void *tensor, int thread, int threads, void *call) NONE
void lqk_q4_panels(void *tensor, int thread, int threads, void *call) NONE
void lqk_q6_panels(void *tensor, int thread, int threads, void *call) NONE

#endif
