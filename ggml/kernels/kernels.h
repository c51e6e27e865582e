// What the C files of this package share. Go sees the calls and the functions at the end.
#ifndef LQK_KERNELS_H
#define LQK_KERNELS_H

#include <stddef.h>
#include <stdint.h>

// Levels of instruction sets, as kernels.Level numbers them.
enum { LQK_NONE, LQK_PORTABLE, LQK_NEON, LQK_AVX2, LQK_AVX512, LQK_AVX512_BF16, LQK_LEVELS };

// Types of packed weights. The inputs are F32, those of rounded weights BF16: products of pairs of channels are summed
// in F32 by one instruction.
enum { LQK_F32, LQK_F16, LQK_BF16, LQK_ROUNDED, LQK_TYPES };

// A convolution as a node of a graph: first what ggml.Builder.Custom fills in, the addresses of the result and the
// operands, then the parameters. Rows of channels throughout; T is rows.
struct lqk_conv {
	float *result;         // [T][out], or [2][T][out]: the sums, then their activations
	const void *past;      // [(taps-1)·dilation][in]: the rows before the first
	const void *x;         // [T][in]
	const void *weight;    // panels, see level.h
	const float *bias;     // [period]
	const float *add;      // [T][out] or NULL: what is added to the sums
	const float *alpha;    // [period] or NULL: Snake's a
	const float *inv_beta; // [period] or NULL: Snake's 1/b
	int64_t level, type, in, out, taps, dilation, rows;
	int64_t period; // output o has entry o % period of bias, alpha and inv_beta
	int64_t both;   // the result holds the sums besides their activations
};

// Rows that a convolution keeps for the next run, as a node of a graph.
struct lqk_carry {
	float *result;     // [1], not written
	char *past;        // [keep]: becomes the last rows of past and x strung together
	const char *x;     // [T]
	const float *after; // what has read past: only there to come after it
	int64_t row_bytes, rows, keep;
};

// Rounding of F32 to the nearest BF16, ties to even, as a node of a graph.
struct lqk_round {
	uint16_t *result;
	const float *x;
	int64_t level, count;
};

// The operations, of ggml_custom_op_t's type but for the first parameter, which they do not read. Each thread of a
// graph calls them.
void lqk_conv(void *tensor, int thread, int threads, void *call);
void lqk_carry(void *tensor, int thread, int threads, void *call);
void lqk_round(void *tensor, int thread, int threads, void *call);

// lqk_has tells whether this processor can run a level, lqk_best which is the fastest; LQK_NONE if ggml's operations are.
int lqk_has(int level);
int lqk_best(void);

#endif
