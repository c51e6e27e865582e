// NEON: tiles of 8 rows, 24 of the 32 registers for sums.
#if defined(__aarch64__)

#include <arm_neon.h>

#define LEVEL neon
#define TARGET
#define V float32x4_t
#define LANES 4
#define TILE 8

#define load vld1q_f32
#define store vst1q_f32
#define splat vdupq_n_f32
#define fma_(a, b, c) vfmaq_f32(c, a, b)
#define add vaddq_f32
#define mul vmulq_f32
#define nearest vrndnq_f32
#define beyond(v, limit) (vmaxvq_u32(vcagtq_f32(v, splat(limit))) != 0)
#define load_f16(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t *)(p))))
#define load_bf16(p) vreinterpretq_f32_u32(vshll_n_u16(vld1_u16((const uint16_t *)(p)), 16))

#include "tile.h"

#else
typedef int lqk_no_neon; // ISO C wants something in a file
#endif
