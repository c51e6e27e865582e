// AVX-512 as in avx512.c, with products of BF16 pairs besides.
#if defined(__x86_64__) || defined(_M_X64)

#define LEVEL avx512_bf16
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define dot_pairs(sum, a, b) _mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(b))
#define store_rounded(p, v) _mm256_storeu_si256((__m256i *)(p), (__m256i)_mm512_cvtneps_pbh(v))

#include "avx512.c"

#else
typedef int lqk_no_avx512_bf16; // ISO C wants something in a file
#endif
