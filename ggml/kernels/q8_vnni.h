// What the forms of Q8_0 products share: AVX-512 with VNNI.
#ifndef LQK_Q8_VNNI_H
#define LQK_Q8_VNNI_H

#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "q8.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,f16c,fma")))

enum { TILE = LQK_Q8_TILE, BLOCK = LQK_Q8_BLOCK, BYTES = LQK_Q8_BYTES };

// round_block rounds 32 values; sums are those of its halves. One that is not finite makes the scale, and so every product, not a number.
// Where all are so small that the scale has no inverse, they count as zero.
TARGET static inline void round_block(int8_t *q, float *scale, int32_t sums[2], const float *x) {
	const __m512 a = _mm512_loadu_ps(x), b = _mm512_loadu_ps(x + 16);
	const __m512 abs_a = _mm512_abs_ps(a), abs_b = _mm512_abs_ps(b), most = _mm512_set1_ps(FLT_MAX);
	const int odd = _mm512_cmp_ps_mask(abs_a, most, _CMP_NLE_UQ) | _mm512_cmp_ps_mask(abs_b, most, _CMP_NLE_UQ);
	const float s = odd ? NAN : _mm512_reduce_max_ps(_mm512_max_ps(abs_a, abs_b)) / 127;
	const __m512 inverse = _mm512_set1_ps(s >= FLT_MIN ? 1 / s : 0);
	const __m512i qa = _mm512_cvtps_epi32(_mm512_mul_ps(a, inverse)), qb = _mm512_cvtps_epi32(_mm512_mul_ps(b, inverse));
	_mm_storeu_si128((__m128i *)q, _mm512_cvtsepi32_epi8(qa));
	_mm_storeu_si128((__m128i *)(q + 16), _mm512_cvtsepi32_epi8(qb));
	sums[0] = odd ? 0 : _mm512_reduce_add_epi32(qa);
	sums[1] = odd ? 0 : _mm512_reduce_add_epi32(qb);
	*scale = s;
}

TARGET static inline float half_at(const uint8_t *p) {
	uint16_t h;
	memcpy(&h, p, 2);
	return _cvtsh_ss(h);
}

// A rounded column.
struct column {
	const int8_t *q;
	const float *scale;
	const int32_t (*sums)[2];
};

static inline struct column column_at(const void *columns, int64_t n, int64_t in) {
	const int8_t *q = (const int8_t *)columns + n * lqk_q8_column(in);
	const float *scale = (const float *)(q + in);
	return (struct column){q, scale, (const int32_t(*)[2])(scale + in / BLOCK)};
}

// correction undoes that weights are taken as unsigned bytes, 128 more than they are.
static inline int32_t correction(struct column x, int64_t block) { return -128 * (x.sums[block][0] + x.sums[block][1]); }

enum { LINE = 64 };

// AHEAD brings near what is read next: `bytes` from p on, as many as a step reads. (A macro: GCC takes a function that
// only prefetches for one without effect, and drops the calls.)
#define AHEAD(p, bytes)                                                                                                \
	for (int line_ = 0; line_ < (bytes); line_ += LINE) _mm_prefetch((const char *)(p) + line_, _MM_HINT_T0)

// Four successive values of a column in each lane.
TARGET static inline __m512i four_of(const int8_t *q) {
	int32_t v;
	memcpy(&v, q, 4);
	return _mm512_set1_epi32(v);
}

// A panel times some columns.
typedef void panel_of_columns(float *y, int64_t out, const uint8_t *w, int64_t in, const struct column *x, int near);

// each_panel calls the function for as many columns as there are at a time: of[log2].
static inline void each_panel(const struct lqk_q8_matmul *c, int64_t from, int64_t to, int64_t bytes, panel_of_columns *const *of) {
	for (int64_t row = from; row < to; row += LQK_Q8_PANEL)
		for (int64_t n = 0, log; n < c->columns; n += 1 << log) {
			const int64_t left = c->columns - n;
			struct column x[8];
			log = left >= 8 ? 3 : left >= 4 ? 2 : left >= 2 ? 1 : 0;
			for (int i = 0; i < 1 << log; i++) x[i] = column_at(c->x, n + i, c->in);
			of[log](c->result + n * c->out + row, c->out, c->weight + row / LQK_Q8_PANEL * bytes, c->in, x, n == 0);
		}
}

#endif
