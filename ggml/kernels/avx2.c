// AVX2 with FMA and F16C: tiles of 4 rows, 12 of the 16 registers for sums.
#if defined(__x86_64__) || defined(_M_X64)

#include <immintrin.h>

#define LEVEL avx2
#define TARGET __attribute__((target("avx2,fma,f16c")))
#define V __m256
#define LANES 8
#define TILE 4

#define load _mm256_loadu_ps
#define store _mm256_storeu_ps
#define splat _mm256_set1_ps
#define fma_ _mm256_fmadd_ps
#define add _mm256_add_ps
#define mul _mm256_mul_ps
#define nearest(v) _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define beyond(v, limit)                                                                                               \
	(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_andnot_ps(splat(-0.0f), v), splat(limit), _CMP_GT_OQ)) != 0)
#define load_f16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define load_bf16(p)                                                                                                   \
	_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p))), 16))

#include "tile.h"

#else
typedef int lqk_no_avx2; // ISO C wants something in a file
#endif
