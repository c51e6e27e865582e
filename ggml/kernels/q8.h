// Products of Q8_0 weights with several columns.
//
// Weights lie as in the file: rows of blocks, each a half-precision scale and 32 signed bytes. The columns are rounded
// to bytes too, 32 values sharing a scale, and packed so that a register holds four successive values of each of its 16
// columns (a tile). The products of a block are summed exactly in 32-bit integers; blocks are added up in order in
// single precision. So each result depends on its row and column alone, not on how many there are or who computes them.
#ifndef LQK_Q8_H
#define LQK_Q8_H

#include <stdint.h>

enum {
	LQK_Q8_BLOCK = 32, // values
	LQK_Q8_BYTES = 34, // of a block of weights
	LQK_Q8_TILE = 16   // columns
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

// The products, as a node of a graph.
struct lqk_q8_matmul {
	float *result; // [columns][out]
	const struct lqk_q8_packed *packed;
	const uint8_t *weight; // [out][blocks]
	int64_t in, out, columns;
};

void lqk_q8_pack(void *tensor, int thread, int threads, void *call);
void lqk_q8_matmul(void *tensor, int thread, int threads, void *call);

// lqk_q8_has tells whether this processor has the instructions: AVX-512 with VNNI.
int lqk_q8_has(void);

#endif
