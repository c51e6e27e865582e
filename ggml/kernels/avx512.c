// AVX-512: tiles of 8 rows, 24 of the 32 registers for sums. A step's 24 fused multiply-adds need 3 loads of weights
// and 8 of inputs, which keeps both units of a core busy.
#if defined(__x86_64__) || defined(_M_X64)

#include <immintrin.h>

#ifndef LEVEL
#define LEVEL avx512
#define TARGET __attribute__((target("avx512f")))
#endif
#define V __m512
#define LANES 16
#define TILE 8

#define load _mm512_loadu_ps
#define store _mm512_storeu_ps
#define splat _mm512_set1_ps
#define fma_ _mm512_fmadd_ps
#define add _mm512_add_ps
#define mul _mm512_mul_ps
#define nearest(v) _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define beyond(v, limit) (_mm512_cmp_ps_mask(_mm512_abs_ps(v), splat(limit), _CMP_GT_OQ) != 0)
#define load_f16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define load_bf16(p)                                                                                                   \
	_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p))), 16))

#include "tile.h"

#else
typedef int lqk_no_avx512; // ISO C wants something in a file
#endif
