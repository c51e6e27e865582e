// Products of Q8_0 weights as they lie in a file with columns, in two forms that give the same bits; panels.h has a third.
//
// Weights are rows of blocks, each a half-precision scale and 32 signed bytes. The columns are rounded to bytes too, 32
// values sharing a scale. The products of a block are summed exactly in 32-bit
// integers; blocks are added up in order in single precision. So each result depends on its row and column alone, not
// on how many there are, which form they are computed with or on which thread.
//
//   wide  many columns, packed so that a register holds four successive values of each of its 16 columns (a tile)
//   few   a few columns; a register holds a block of weights of one or two rows
//
// One column is bound by the reading of the weights: what is read next is brought near, in the order of memory.
#ifndef LQK_Q8_H
#define LQK_Q8_H

#include <stdint.h>

enum {
	LQK_Q8_BLOCK = 32, // values
	LQK_Q8_BYTES = 34, // of a block of weights
	LQK_Q8_TILE = 16,  // columns
	LQK_Q8_PANEL = 16  // rows
};

// A block of a tile.
struct lqk_q8_packed {
	int8_t q[8][4 * LQK_Q8_TILE];
	int32_t correction[LQK_Q8_TILE]; // the weights are taken as unsigned, 128 more than they are
	float scale[LQK_Q8_TILE];
};

// Packing columns, as a node of a graph.
struct lqk_q8_pack {
	struct lqk_q8_packed *result; // [tiles][blocks]
	const float *x;               // [columns][in]
	int64_t in, columns;
};

// A column: bytes [in], then floats, the scales [blocks], then 32-bit integers, the sums of the first and of the second
// half of each block [blocks][2].
static inline int64_t lqk_q8_column(int64_t in) { return in + in / LQK_Q8_BLOCK * 12; }

// Rounding columns, as a node of a graph.
struct lqk_q8_round {
	int8_t *result; // columns, one after the other
	const float *x; // [columns][in]
	int64_t in, columns;
};

// The products, as a node of a graph.
struct lqk_q8_matmul {
	float *result;         // [columns][out]
	const void *x;         // packed for the wide form, else rounded
	const uint8_t *weight; // [out][blocks], or panels
	int64_t in, out, columns;
	int64_t crew; // struct lqk_crew *, see crew.h; 0: none. The wide form has no use for it.
};

void lqk_q8_pack(void *tensor, int thread, int threads, void *call);
void lqk_q8_round(void *tensor, int thread, int threads, void *call);
void lqk_q8_wide(void *tensor, int thread, int threads, void *call);
void lqk_q8_few(void *tensor, int thread, int threads, void *call);

// Rows from..to of the products of weights in the file's order, for a few columns.
void lqk_q8_few_rows(const struct lqk_q8_matmul *c, int64_t from, int64_t to);

// lqk_q8_has tells whether this processor has the instructions: AVX-512 with VNNI.
int lqk_q8_has(void);

#endif
