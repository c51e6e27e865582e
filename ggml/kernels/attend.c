// Attention of single positions; see attend.h.
#include "attend.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <stddef.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,fma")))
#define INLINE TARGET static inline __attribute__((always_inline))

enum { LANES = 16 };

// Up to 16 elements of a cache, widened; those outside of seen are zero, and not read.
INLINE __m512 elements(const char *p, __mmask16 seen, int half) {
	return half ? _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(seen, p)) : _mm512_maskz_loadu_ps(seen, p);
}

// e^x for x <= 0, with a relative error below 2e-7; 0 far below, and NaN of NaN.
INLINE __m512 exponential(__m512 x) {
	x = _mm512_max_ps(_mm512_set1_ps(-110), x); // the second operand if one is not a number
	const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT);
	__m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693145752f), x); // ln 2 in two parts
	r = _mm512_fnmadd_ps(n, _mm512_set1_ps(1.42860677e-6f), r);
	__m512 p = _mm512_set1_ps(1.0f / 5040);
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 720));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1));
	return _mm512_scalef_ps(p, n);
}

// The sums over the lanes of 16 registers, in order.
INLINE __m512 sums(const __m512 *s) {
	__m512 pairs[8], fours[4];
	_Pragma("GCC unroll 8") for (int i = 0; i < 8; i++)
		pairs[i] = _mm512_add_ps(_mm512_unpacklo_ps(s[2 * i], s[2 * i + 1]), _mm512_unpackhi_ps(s[2 * i], s[2 * i + 1]));
	_Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
		const __m512d a = _mm512_castps_pd(pairs[2 * i]), b = _mm512_castps_pd(pairs[2 * i + 1]);
		fours[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
	}
	const __m512 a = _mm512_add_ps(_mm512_shuffle_f32x4(fours[0], fours[1], 0x88), _mm512_shuffle_f32x4(fours[0], fours[1], 0xdd));
	const __m512 b = _mm512_add_ps(_mm512_shuffle_f32x4(fours[2], fours[3], 0x88), _mm512_shuffle_f32x4(fours[2], fours[3], 0xdd));
	return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

// Heads that are computed at a time: their keys lie side by side, so the cache is read in order.
enum { VALUES = 2048, HEADS = VALUES / LANES };

// What some heads have seen so far: their highest scores, the sums of the weights relative to these, and the weighted
// values [heads][head].
struct heads {
	float most[HEADS], sum[HEADS];
	float value[VALUES] __attribute__((aligned(64)));
};

// part is some heads of a lane, with those that share their keys and values.
struct part {
	const struct lqk_attend *c;
	const float *q;
	const char *keys, *values;
	const float *mask;
	int count;    // of keys and values
	int64_t size; // of their elements
};

// score leaves the scores of 16 slots in s [heads]; those that are not seen are -infinity. Meanwhile the values of these
// slots are brought near.
INLINE void score(__m512 *s, const struct part *p, int64_t from, __mmask16 seen, int group, int half) {
	const struct lqk_attend *c = p->c;
	const int64_t rows = p->count * c->head;
	float dots[LANES][HEADS];
	for (int m = 0; m < LANES; m++) {
		for (int64_t d = rows * m / LANES; d < rows * (m + 1) / LANES; d++)
			_mm_prefetch(p->values + (d * c->slots + from) * p->size, _MM_HINT_T0);
		if (!(seen >> m & 1)) continue;
		const char *k = p->keys + (from + m) * c->kv * c->head * p->size;
		const float *q = p->q;
		for (int i = 0; i < p->count; i++, k += c->head * p->size, q += group * c->head) {
			__m512 dot[LQK_ATTEND_GROUP];
			for (int h = 0; h < group; h++) dot[h] = _mm512_setzero_ps();
			for (int64_t d = 0; d < c->head; d += LANES) {
				const __m512 v = elements(k + d * p->size, 0xffff, half);
				for (int h = 0; h < group; h++) dot[h] = _mm512_fmadd_ps(v, _mm512_loadu_ps(q + h * c->head + d), dot[h]);
			}
			for (int h = 0; h < group; h++) dots[m][i * group + h] = _mm512_reduce_add_ps(dot[h]);
		}
	}
	const __m512i column = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(HEADS));
	const __m512 hidden = _mm512_set1_ps(-INFINITY);
	for (int h = 0; h < p->count * group; h++) {
		const __m512 v = _mm512_mask_i32gather_ps(hidden, seen, column, &dots[0][h], 4);
		s[h] = _mm512_mask_mul_ps(hidden, seen, v, _mm512_set1_ps((float)c->scale));
	}
}

// weigh turns a head's scores into weights relative to its new maximum.
INLINE __m512 weigh(struct heads *heads, int h, __m512 s, int64_t channels) {
	const float highest = _mm512_reduce_max_ps(s), before = heads->most[h];
	if (highest > before) {
		const __m512 fade = exponential(_mm512_set1_ps(before - highest)); // of what was seen before
		heads->most[h] = highest;
		heads->sum[h] *= _mm512_cvtss_f32(fade);
		float *value = heads->value + h * channels;
		for (int64_t d = 0; d < channels; d += LANES) _mm512_store_ps(value + d, _mm512_mul_ps(_mm512_load_ps(value + d), fade));
	}
	s = exponential(_mm512_sub_ps(s, _mm512_set1_ps(heads->most[h])));
	heads->sum[h] += _mm512_reduce_add_ps(s);
	return s;
}

// gather adds the weighted values of 16 slots to the heads that share them, 16 channels at a time.
INLINE void gather(float *value, const struct part *p, const __m512 *s, const char *values, __mmask16 seen, int group, int half) {
	const struct lqk_attend *c = p->c;
	for (int64_t d = 0; d < c->head; d += LANES) {
		__m512 parts[LQK_ATTEND_GROUP][LANES];
		_Pragma("GCC unroll 16") for (int m = 0; m < LANES; m++) {
			const __m512 v = elements(values + (d + m) * c->slots * p->size, seen, half);
			for (int h = 0; h < group; h++) parts[h][m] = _mm512_mul_ps(v, s[h]);
		}
		for (int h = 0; h < group; h++) {
			float *at = value + h * c->head + d;
			_mm512_store_ps(at, _mm512_add_ps(_mm512_load_ps(at), sums(parts[h])));
		}
	}
}

// see tells which of 16 slots are seen.
INLINE __mmask16 see(const float *mask, int64_t from, int64_t window) {
	const int64_t left = window - from;
	const __mmask16 there = left >= LANES ? 0xffff : (__mmask16)((1 << left) - 1);
	return mask ? _mm512_mask_cmp_ps_mask(there, _mm512_maskz_loadu_ps(there, mask + from), _mm512_setzero_ps(), _CMP_EQ_OQ) : there;
}

// attend computes a part, whose results follow each other.
INLINE void attend(float *result, const struct part *p, int group, int half) {
	const struct lqk_attend *c = p->c;
	const int n = p->count * group;
	struct heads heads;
	for (int h = 0; h < n; h++) heads.most[h] = -INFINITY, heads.sum[h] = 0;
	for (int64_t i = 0; i < n * c->head; i++) heads.value[i] = 0;
	for (int64_t from = 0; from < c->window; from += LANES) {
		const __mmask16 seen = see(p->mask, from, c->window);
		__m512 s[HEADS];
		if (!seen) continue;
		score(s, p, from, seen, group, half);
		for (int i = 0; i < p->count; i++) {
			for (int h = i * group; h < (i + 1) * group; h++) s[h] = weigh(&heads, h, s[h], c->head);
			gather(heads.value + i * group * c->head, p, s + i * group, p->values + (i * c->head * c->slots + from) * p->size, seen, group, half);
		}
	}
	for (int64_t i = 0; i < n * c->head; i += LANES)
		_mm512_storeu_ps(result + i, _mm512_div_ps(_mm512_load_ps(heads.value + i), _mm512_set1_ps(heads.sum[i / c->head])));
}

// The number of heads and the type are constants, so that sums stay in registers.
#define FORM(group)                                                                                                    \
	TARGET static void half_##group(float *result, const struct part *p) { attend(result, p, group, 1); }              \
	TARGET static void full_##group(float *result, const struct part *p) { attend(result, p, group, 0); }

FORM(1)
FORM(2)
FORM(4)
FORM(8)

typedef void form(float *result, const struct part *p);

static form *const forms[2][LQK_ATTEND_GROUP + 1] = {{[1] = full_1, [2] = full_2, [4] = full_4, [8] = full_8},
                                                     {[1] = half_1, [2] = half_2, [4] = half_4, [8] = half_8}};

// lane computes a lane's heads whose keys and values are from..to.
static void lane(const struct lqk_attend *c, int64_t lane, int64_t from, int64_t to) {
	const int64_t group = c->heads / c->kv, most = VALUES / (group * c->head), size = c->half ? 2 : 4;
	for (int64_t next; from < to; from = next) {
		next = from + most < to ? from + most : to;
		const int64_t at = (lane * c->heads + from * group) * c->head;
		const struct part p = {
			.c = c,
			.q = c->q + at,
			.keys = (const char *)c->keys + (lane * c->slots * c->kv + from) * c->head * size,
			.values = (const char *)c->values + (lane * c->kv + from) * c->head * c->slots * size,
			.mask = c->mask ? c->mask + lane * c->window : NULL,
			.count = (int)(next - from),
			.size = size,
		};
		forms[c->half][group](c->result + at, &p);
	}
}

void lqk_attend(void *tensor, int thread, int threads, void *call) {
	(void)tensor;
	const struct lqk_attend *c = call;
	for (int64_t i = 0; i < c->lanes; i++) lane(c, i, c->kv * thread / threads, c->kv * (thread + 1) / threads);
}

#else

void lqk_attend(void *tensor, int thread, int threads, void *call) { (void)tensor, (void)thread, (void)threads, (void)call; }

#endif
