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

// round_block rounds 32 values. One that is not finite makes the scale, and so every product, not a number.
TARGET static inline void round_block(int8_t *q, float *scale, int32_t *correction, const float *x) {
	const __m512 a = _mm512_loadu_ps(x), b = _mm512_loadu_ps(x + 16);
	const __m512 abs_a = _mm512_abs_ps(a), abs_b = _mm512_abs_ps(b), most = _mm512_set1_ps(FLT_MAX);
	const int odd = _mm512_cmp_ps_mask(abs_a, most, _CMP_NLE_UQ) | _mm512_cmp_ps_mask(abs_b, most, _CMP_NLE_UQ);
	const float s = odd ? NAN : _mm512_reduce_max_ps(_mm512_max_ps(abs_a, abs_b)) / 127;
	const __m512 inverse = _mm512_set1_ps(s > 0 ? 1 / s : 0);
	const __m512i qa = _mm512_cvtps_epi32(_mm512_mul_ps(a, inverse)), qb = _mm512_cvtps_epi32(_mm512_mul_ps(b, inverse));
	_mm_storeu_si128((__m128i *)q, _mm512_cvtsepi32_epi8(qa));
	_mm_storeu_si128((__m128i *)(q + 16), _mm512_cvtsepi32_epi8(qb));
	*correction = odd ? 0 : -128 * _mm512_reduce_add_epi32(_mm512_add_epi32(qa, qb));
	*scale = s;
}

TARGET static inline float half_at(const uint8_t *p) {
	uint16_t h;
	memcpy(&h, p, 2);
	return _cvtsh_ss(h);
}

#endif
